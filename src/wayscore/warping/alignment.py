"""Dynamic time warping of one pair of paths: its value, the warping itself, and the linear-time approximation.

DTW(R, Q) = min over warpings W of the sum of d(r_i, q_j) over (i, j) in W, where W leads from (1, 1) to
(|R|, |Q|) by steps (1, 1), (1, 0) and (0, 1). Units are those of the distance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore import kernels
from wayscore.distances.base import EUCLIDEAN, Distance, Euclidean, Floats, Places, as_distance
from wayscore.errors import OptionError, PathError, check_threshold, shortened
from wayscore.escaping import escape
from wayscore.kernels import pair_ndtw, pair_value, pair_warping
from wayscore.warping.encoded import dtw_value, fast_warping, fresh_borders, optimal_warping

SHOWN = 50  # pairs at most, in a notebook
WIDTH, HEIGHT, MARGIN = 640, 90, 24


class Alignment:
    """A warping between a reference and a query, and its cost.

    Attributes:
        cost: the sum of distances along the warping.
        pairs: (k, 2) zero-based positions in the reference and in the query (the agent's trajectory), from (0, 0) to
            the two ends.
        distance: d between two nodes or points.

    >>> align(reference=[[0.0], [1.0]], query=[[0.0], [3.0]])
    <Alignment of 2 x 2 nodes: 2 pairs, cost 2>
    """

    __slots__ = ("_is_encoded", "_paths", "cost", "distance", "pairs")

    def __init__(
        self,
        cost: float,
        pairs: NDArray[np.int64],
        reference: Any,
        query: Any,
        distance: Distance,
        encoded: bool = True,
    ) -> None:
        """Keep a warping; paths that are not `encoded` are when they are first looked at, since that takes longer."""
        self.cost, self.pairs, self.distance = cost, pairs, distance
        self._paths, self._is_encoded = (reference, query), encoded

    @property
    def reference(self) -> Places:
        """R as the distance encodes it, codes (n,) or points (n, k)."""
        return self._encoded()[0]

    @property
    def query(self) -> Places:
        """Q, the agent's trajectory, encoded likewise."""
        return self._encoded()[1]

    def _encoded(self) -> tuple[Places, Places]:
        if not self._is_encoded:
            self._paths = encode_pair(*self._paths, self.distance)[:2]
            self._is_encoded = True
        return self._paths

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        n, m = len(self.reference), len(self.query)
        return f"<Alignment of {n} x {m} nodes: {len(self)} pairs, cost {self.cost:g}>"

    def _repr_html_(self) -> str:
        """Return a picture of the links between the first nodes, and a table of their pairs, for notebooks."""
        pairs, unit = self.pairs[:SHOWN], escape(self.distance.unit, "html")
        i, j = pairs.T
        reference = [_short(node) for node in self.distance.decode(self.reference[: int(i[-1]) + 1])]
        query = [_short(node) for node in self.distance.decode(self.query[: int(j[-1]) + 1])]
        distances = self.distance.pairs(self.reference[i], self.query[j]).tolist()
        rows = "".join(
            f"<tr><td>{a}</td><td>{reference[a]}</td><td>{b}</td><td>{query[b]}</td><td>{d:.3g}</td></tr>"
            for (a, b), d in zip(pairs.tolist(), distances, strict=True)
        )
        more = f" (first {SHOWN} shown)" if len(self) > SHOWN else ""
        return (
            f"<div><p>Cost <b>{self.cost:.4g}</b> {unit}, {len(self)} pairs{more}; "
            "reference above, query (the agent's trajectory) below.</p>"
            f"{_draw_links(pairs, reference, query)}<details><summary>Pairs</summary><table><thead><tr><th>i</th>"
            f"<th>reference</th><th>j</th><th>query</th><th>d ({unit})</th></tr></thead><tbody>{rows}</tbody></table>"
            "</details></div>"
        )

    def distances(self) -> Floats:
        """Return d(r_i, q_j) for all i and j, (|R|, |Q|)."""
        if len(self.reference) * len(self.query) > 1 << 28:
            raise OptionError(
                f"a matrix of {len(self.reference)} x {len(self.query)} cells would take more than 2 GiB; "
                "shorten the paths or use .pairs"
            )
        return self.distance.between(self.reference, self.query)

    def matrix(self) -> Floats:
        """Return the accumulated costs C, (|R|, |Q|): C[i, j] = DTW(r_1..i+1, q_1..j+1).

        >>> align(reference=[[0.0], [1.0]], query=[[0.0], [3.0]]).matrix()
        array([[0., 3.],
               [1., 2.]])
        """
        distances = self.distances()
        top, left = fresh_borders(*distances.shape)
        return kernels.fill(distances, top, left)[1:, 1:].copy()


def dtw(*unnamed: Any, reference: Any = None, query: Any = None, distance: Distance | None = None) -> float:
    """Return DTW(R, Q), exactly, in memory linear in the lengths.

    Args:
        *unnamed: not allowed, because the order of the two paths differs in the literature; use the names.
        reference: R, the ground-truth path: labels for a `Graph` or `Table`, else an (n, k) array of coordinates.
        query: Q, the agent's trajectory.
        distance: d between two nodes or points; None means Euclidean.

    >>> dtw(reference=[[0, 0], [1, 0], [2, 0]], query=[[0, 0], [1, 1], [2, 0]])
    1.0
    """
    if unnamed or reference is None or query is None:
        raise _by_name("dtw")
    index, table = (None, None) if distance is None else index_and_table(distance)
    value = pair_value(reference, query, index, table)
    return _dtw(reference, query, distance) if value is None else value


def ndtw(
    *unnamed: Any, reference: Any = None, query: Any = None, distance: Distance | None = None, threshold: float = 3.0
) -> float:
    """Return nDTW(R, Q) = exp(-DTW(R, Q) / (|R| d_th)), between 0 and 1 (the paper's Eq. 2).

    >>> ndtw(reference=[[0, 0], [3, 0]], query=[[0, 0], [3, 3]], threshold=3.0)
    0.6065306597126334
    """
    if unnamed or reference is None or query is None:
        raise _by_name("ndtw")
    index, table = (None, None) if distance is None else index_and_table(distance)
    value = pair_ndtw(reference, query, index, table, threshold)
    if value is None:
        check_threshold(threshold)
        value = math.exp(-_dtw(reference, query, distance) / (len(reference) * threshold))
    return value


def sdtw(
    *unnamed: Any, reference: Any = None, query: Any = None, distance: Distance | None = None, threshold: float = 3.0
) -> float:
    """Return SDTW(R, Q): nDTW if the query ends within d_th of the reference's end, else 0 (Alg. 2).

    >>> sdtw(reference=[[0, 0], [3, 0]], query=[[0, 0], [9, 9]])
    0.0
    """
    if unnamed or reference is None or query is None:
        raise _by_name("sdtw")
    check_threshold(threshold)
    cost = _dtw(reference, query, distance)
    if _dtw(reference[-1:], query[-1:], distance) > threshold:  # of two single nodes DTW is their distance
        return 0.0
    return math.exp(-cost / (len(reference) * threshold))


def _dtw(reference: Any, query: Any, distance: Distance | None) -> float:
    """Return DTW: at once where both paths are plain lists or arrays, else after every check."""
    value = pair_value(reference, query, *index_and_table(distance))
    if value is not None:
        return value
    R, Q, distance = encode_pair(reference, query, distance)
    return dtw_value(R, Q, distance)


def align(*unnamed: Any, reference: Any = None, query: Any = None, distance: Distance | None = None) -> Alignment:
    """Return an optimal warping, in memory linear in the lengths.

    Among equally good warpings the diagonal step is preferred, then the reference's.

    >>> align(reference=[[0.0], [1.0], [2.0]], query=[[0.0], [2.0]]).pairs.tolist()
    [[0, 0], [1, 0], [2, 1]]
    """
    if unnamed or reference is None or query is None:
        raise _by_name("align")
    try:
        cells = np.empty((len(reference) + len(query), 2), np.int64)
        found = pair_warping(reference, query, *index_and_table(distance), cells)
    except TypeError:  # something without a length
        found = None
    if found is not None:
        R = reference if type(reference) is np.ndarray else list(reference)  # lists may grow later
        Q = query if type(query) is np.ndarray else list(query)
        return Alignment(found[0], cells[: found[1]], R, Q, EUCLIDEAN if distance is None else distance, False)
    R, Q, distance = encode_pair(reference, query, distance)
    return Alignment(*optimal_warping(R, Q, distance), R, Q, distance)


def index_and_table(distance: Any) -> tuple[Any, Any]:
    """Return what the kernels for one pair take: of nodes index and table, of points Nones; else what they decline."""
    if distance is None or type(distance) is Euclidean:
        return None, None
    if isinstance(distance, Distance):
        index = distance.index
        return {} if index is None else index, distance.table
    return {}, None


def fast_dtw(
    *unnamed: Any,
    reference: Any = None,
    query: Any = None,
    distance: Distance | None = None,
    radius: int = 1,
    build: str = "python",
) -> Alignment:
    """Return a nearly optimal warping in linear time and memory (FastDTW, Salvador and Chan).

    It halves both paths repeatedly, warps the shortest ones exactly, and refines within `radius` cells of the
    coarser warping. Points are averaged. Nodes have no average, so they are sampled, as the paper says, and only real
    nodes are ever compared. A larger radius is slower and closer to `dtw`.

    The `fastdtw` package has two builds, which break ties differently and search slightly different windows:
    `build` "python" gives the results of its pure Python code, "compiled" those of its extension (radius 1 or more;
    it crashes with 0), each called with the query first, as evaluators do. The order matters for both.

    >>> fast_dtw(reference=[[0.0], [1.0], [2.0]], query=[[0.0], [2.0]], radius=1).cost
    1.0
    """
    if unnamed or reference is None or query is None:
        raise _by_name("fast_dtw")
    if not isinstance(radius, int | np.integer) or isinstance(radius, bool) or radius < 0:
        raise OptionError(f"radius must be a whole number of cells, 0 or more, got {shortened(radius)}")
    if not isinstance(build, str) or build not in ("python", "compiled"):
        raise OptionError(f'build must be "python" or "compiled", got {shortened(build)}')
    if build == "compiled" and radius == 0:
        raise OptionError('build "compiled" needs a radius of 1 or more; with 0, that build of fastdtw crashes')
    R, Q, distance = encode_pair(reference, query, distance)
    return Alignment(*fast_warping(R, Q, distance, int(radius), build == "compiled"), R, Q, distance)


def encode_pair(reference: Any, query: Any, distance: Distance | None) -> tuple[Places, Places, Distance]:
    """Check two paths and return them encoded, with their distance."""
    distance = EUCLIDEAN if distance is None else as_distance(distance)
    R, Q = _encoded(reference, distance, "the reference"), _encoded(query, distance, "the query")
    if R.ndim == 2 and R.shape[1] != Q.shape[1]:
        raise PathError(
            f"the reference has {R.shape[1]}-dimensional points and the query {Q.shape[1]}-dimensional ones; "
            "both need the same dimension"
        )
    return R, Q, distance


def _encoded(path: Any, distance: Distance, role: str) -> Places:
    """Return one path encoded: an array of points as it is, since making a batch of it takes longer than to warp it."""
    usable = (
        type(path) is np.ndarray
        and distance.is_straight
        and path.dtype == np.float64
        and path.ndim == 2
        and path.size > 0
        and path.flags.c_contiguous
        and kernels.all_within(path, kernels.LARGEST)
    )
    places: Places = path if usable else distance.encode([path], role=lambda _: role).places
    return places


def _by_name(function: str) -> OptionError:
    return OptionError(
        f"{function} takes reference= and query= by name, because their order differs in the literature; call "
        f"{function}(reference=..., query=...)"
    )


def _draw_links(pairs: Any, reference: list[str], query: list[str]) -> str:
    """Draw two rows of nodes with the links between them, as SVG."""
    rows, across = [], []
    for nodes, y in ((reference, MARGIN), (query, HEIGHT - MARGIN)):
        count = len(nodes)
        xs = np.linspace(MARGIN, WIDTH - MARGIN, count).round(1).tolist() if count > 1 else [WIDTH / 2]
        across.append(xs)
        rows.append(f'<line x1="{xs[0]}" y1="{y}" x2="{xs[-1]}" y2="{y}" stroke="#1f4e79"/>')
        for x, node in zip(xs, nodes, strict=True):
            rows.append(f'<circle cx="{x}" cy="{y}" r="4" fill="#1f4e79"><title>{node}</title></circle>')
    links = [
        f'<line x1="{across[0][a]}" y1="{MARGIN}" x2="{across[1][b]}" y2="{HEIGHT - MARGIN}" stroke="#e66101" '
        'stroke-opacity="0.6"/>'
        for a, b in pairs.tolist()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="Warping">{"".join(links + rows)}</svg>'
    )


def _short(node: Any) -> str:
    """Return a label, or a point's coordinates, in a few characters that are safe in HTML."""
    text = ", ".join(f"{x:.4g}" for x in node) if isinstance(node, np.ndarray) else str(node)
    return escape(text if len(text) <= 40 else text[:37] + "...", "html")
