"""An alignment as HTML for notebooks: a picture of the links, and a table of the first pairs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wayscore.warping.alignment import Alignment

SHOWN = 50
"""How many pairs are shown at most."""
WIDTH, HEIGHT, MARGIN = 640, 90, 24


def alignment_html(alignment: Alignment) -> str:
    """Return a picture of the links between reference and query, and a table of the first pairs, as HTML."""
    pairs = alignment.pairs[:SHOWN]
    i, j = pairs.T
    reference = alignment.distance.decode(alignment.reference[: int(i[-1]) + 1])
    query = alignment.distance.decode(alignment.query[: int(j[-1]) + 1])
    distances = alignment.distance.pairs(alignment.reference[i], alignment.query[j]).tolist()
    rows = "".join(
        f"<tr><td>{a}</td><td>{_text(reference[a])}</td><td>{b}</td><td>{_text(query[b])}</td><td>{d:.3g}</td></tr>"
        for (a, b), d in zip(pairs.tolist(), distances, strict=True)
    )
    more = f" (first {SHOWN} shown)" if len(alignment) > SHOWN else ""
    unit = escape(alignment.distance.unit)
    return (
        f"<div><p>Cost <b>{alignment.cost:.4g}</b> {unit}, {len(alignment)} pairs{more}; "
        "reference above, query (the agent's trajectory) below.</p>"
        f"{_drawn(pairs, reference, query)}<details><summary>Pairs</summary><table><thead><tr><th>i</th>"
        f"<th>reference</th><th>j</th><th>query</th><th>d ({unit})</th></tr></thead><tbody>{rows}</tbody></table>"
        "</details></div>"
    )


def _drawn(pairs: Any, reference: Any, query: Any) -> str:
    """Draw two rows of nodes with the links between them, as SVG."""
    rows, across = [], []
    for nodes, y in ((reference, MARGIN), (query, HEIGHT - MARGIN)):
        count = len(nodes)
        xs = np.linspace(MARGIN, WIDTH - MARGIN, count).round(1).tolist() if count > 1 else [WIDTH / 2]
        across.append(xs)
        rows.append(f'<line x1="{xs[0]}" y1="{y}" x2="{xs[-1]}" y2="{y}" stroke="#1f4e79"/>')
        for x, node in zip(xs, nodes, strict=True):
            rows.append(f'<circle cx="{x}" cy="{y}" r="4" fill="#1f4e79"><title>{_text(node)}</title></circle>')
    links = [
        f'<line x1="{across[0][a]}" y1="{MARGIN}" x2="{across[1][b]}" y2="{HEIGHT - MARGIN}" stroke="#e66101" '
        'stroke-opacity="0.6"/>'
        for a, b in pairs.tolist()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="Warping">{"".join(links + rows)}</svg>'
    )


def _text(node: Any) -> str:
    """Return a label, or a point's coordinates, in a few characters that are safe in HTML."""
    text = ", ".join(f"{x:.4g}" for x in node) if isinstance(node, np.ndarray) else str(node)
    return escape(text if len(text) <= 40 else text[:37] + "...")
