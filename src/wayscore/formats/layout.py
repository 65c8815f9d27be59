"""How a converted file is laid out: its columns, the codes that stand for labels, and the checksum of its content.

A path of labels is a list of int32 codes, and the schema's metadata says what they stand for, scene by scene; a path of
points is a list of fixed-size lists. Codes are given in the order in which labels first come, so that the same rows
make the same file however they were cut while it was written.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.errors import FormatError
from wayscore.formats.base import Kind
from wayscore.formats.columns import LABELS, NOTES, labels_of

CHECKSUM = b"wayscore.checksum"
"""Where a file says in its metadata what `checksum_of` returned for its rows."""


class _Codes(dict[Any, int]):
    """Codes by label; a label that is new gets the next one."""

    def __missing__(self, label: Any) -> int:
        if not isinstance(label, str | int):
            raise FormatError(f"labels are text or integers; got {label!r}")
        self[label] = code = len(self)
        return code


class Labels:
    """The labels of every scene, numbered as they come; rows without a scene are of scene "".

    >>> labels = Labels()
    >>> labels.encode([["door", "hall"], ["hall", 7]]).tolist()
    [0, 1, 1, 2]
    >>> labels.to_json()
    b'{"": ["door", "hall", 7]}'
    >>> Labels({"": ["door"]}).encode([["hall", "door"]]).tolist()
    [1, 0]
    """

    def __init__(self, known: Mapping[str, Sequence[Any]] | None = None) -> None:
        self._codes: dict[str, _Codes] = defaultdict(_Codes)
        for scene, labels in (known or {}).items():
            self._codes[scene].update((label, code) for code, label in enumerate(labels))

    def encode(self, paths: Sequence[Sequence[Any]], scenes: Iterable[str] | None = None) -> NDArray[np.int32]:
        """Return the codes of paths, end to end."""
        pairs = zip(paths, repeat("") if scenes is None else scenes, strict=False)
        codes = (map(self._codes[scene].__getitem__, path) for path, scene in pairs)
        return np.fromiter(chain.from_iterable(codes), dtype=np.int32, count=sum(map(len, paths)))

    def to_json(self) -> bytes:
        """Return the text that `labels_of` reads."""
        return json.dumps({scene: list(codes) for scene, codes in self._codes.items()}).encode()


class Layout(Struct, frozen=True):
    """The columns of a file.

    Attributes:
        kind: whether its rows are references or a run.
        dimension: of the points in its paths; None for labels.
        scene: whether rows of a run say where they were walked; references always do.
        dense: whether references have finely sampled paths besides.

    >>> Layout("run", 3).schema().names
    ['episode', 'path', 'stopped', 'recorded']
    >>> Layout("references", None).schema().field("path").type
    ListType(list<item: int32>)
    """

    kind: Kind
    dimension: int | None
    scene: bool = False
    dense: bool = False

    def labels(self, labels: Labels) -> dict[bytes, bytes]:
        """Return what the metadata says of the labels, if paths hold codes for them."""
        return {} if self.dimension is not None else {LABELS: labels.to_json()}

    def schema(self) -> Any:
        """Return the Arrow schema."""
        import pyarrow as pa

        points = pa.list_(pa.list_(pa.float64(), self.dimension or 3))
        columns = {"episode": pa.string()}
        if self.kind == "references" or self.scene:
            columns["scene"] = pa.string()
        columns["path"] = pa.list_(pa.int32()) if self.dimension is None else points
        if self.kind == "run":
            columns |= {"stopped": pa.bool_(), "recorded": pa.string()}
        else:
            columns |= {"path_id": pa.string(), "instruction": pa.string(), "goals": pa.list_(pa.string())}
            columns |= {"start_distance": pa.float64(), "heading": pa.float64(), "facts": pa.string()}
            columns |= {"dense": points} if self.dense else {}
        return pa.schema(list(columns.items()))

    def table(self, items: Sequence[Any], labels: Labels, scenes: Sequence[str] | None = None) -> Any:
        """Return the Arrow table of queries or references; labels that are new get their codes.

        Args:
            items: `Query` or `Reference` objects.
            labels: what the codes stand for.
            scenes: where each query was walked, if rows have a scene.

        Raises:
            FormatError: a path is of another kind than the file's.
        """
        import pyarrow as pa

        paths = [item.path for item in items]
        for item in items:
            if dimension_of(item.path) != self.dimension:
                raise FormatError(
                    f"episode {item.episode!r}: its path has {_kind_of(dimension_of(item.path))}, but the file begins "
                    f"with {_kind_of(self.dimension)}; Parquet holds one kind in a file, so convert them apart"
                )
        if self.kind == "references":
            scenes = [item.scene for item in items]
            walked = next((item for item in items if item.dense is not None), None)
            if walked is not None and not self.dense:
                raise FormatError(
                    f"episode {walked.episode!r}: has a dense walk, but the first record has no field 'dense'; give it "
                    "there too, null if need be"
                )
        places = labels.encode(paths, scenes) if self.dimension is None else _points(paths, self.dimension)
        columns: dict[str, Any] = {"scene": scenes, "path": _lists(paths, places)}
        if self.dense:
            columns["dense"] = _dense(items, self.dimension or 3)
        schema = self.schema()
        if self.kind == "run":
            columns["recorded"] = [_json(item.recorded) for item in items]
        else:
            named = [all(isinstance(goal, str) for goal in item.goals) for item in items]
            columns["goals"] = [item.goals if plain else () for item, plain in zip(items, named, strict=True)]
            columns["facts"] = [
                _json(item.facts if plain else {**item.facts, "goals": item.goals})
                for item, plain in zip(items, named, strict=True)
            ]
        for name in schema.names:
            if name not in columns:
                columns[name] = [getattr(item, name) for item in items]
        return pa.table(
            [pa.array(columns[name], kind) for name, kind in zip(schema.names, schema.types, strict=True)],
            schema=schema,
        )


def _json(facts: Mapping[str, Any]) -> str | None:
    """Return facts as the text of a JSON object; infinity, which JSON does not have, becomes null."""
    return msgspec.json.encode(facts).decode() if facts else None


def dimension_of(path: Any) -> int | None:
    """Return the dimension of a path of points; None for labels."""
    return int(path.shape[1]) if isinstance(path, np.ndarray) else None


class Checksum:
    """A checksum of rows that are added batch by batch; it does not depend on how they are grouped.

    >>> import pyarrow as pa
    >>> table = pa.table({"episode": ["a", "b"], "path": [[1, 2], [3]]})
    >>> whole, single = table.to_batches(), table.to_batches(max_chunksize=1)
    >>> checksum_of(table.schema, whole) == checksum_of(table.schema, single)
    True
    """

    def __init__(self) -> None:
        self._sums: dict[str, Any] = defaultdict(hashlib.sha256)

    def add(self, rows: Any) -> None:
        """Add an Arrow table or record batch."""
        for batch in rows.to_batches() if hasattr(rows, "to_batches") else [rows]:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                _add(self._sums, name, column)

    def of(self, schema: Any) -> str:
        """Return the checksum, in hexadecimal; the schema's labels and notes count too."""
        notes = {name.decode(): schema.metadata[name].hex() for name in NOTES if name in (schema.metadata or {})}
        parts = {name: some.hexdigest() for name, some in sorted(self._sums.items())}
        content = [schema.names, parts, notes, labels_of(schema)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def checksum_of(schema: Any, batches: Iterable[Any]) -> str:
    """Return the checksum of Arrow record batches."""
    sums = Checksum()
    for batch in batches:
        sums.add(batch)
    return sums.of(schema)


def _add(sums: dict[str, Any], name: str, column: Any) -> None:
    """Add an Arrow array to the sums of its parts: which values are there, how long they are, what they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    sums[f"{name}?"].update(column.is_valid().to_numpy(zero_copy_only=False))
    if pa.types.is_list(kind):
        sums[f"{name}#"].update(np.asarray(column.value_lengths().fill_null(0), dtype="<i4"))
        _add(sums, f"{name}[]", column.flatten())
    elif pa.types.is_fixed_size_list(kind):
        _add(sums, f"{name}[{kind.list_size}]", column.flatten())
    elif pa.types.is_string(kind):
        text = column.fill_null("")
        sums[f"{name}#"].update(np.asarray(pc.binary_length(text), dtype="<i4"))
        sums[name].update("".join(text.to_pylist()).encode())
    elif pa.types.is_primitive(kind):
        values = column.fill_null(pa.scalar(0).cast(kind)).to_numpy(zero_copy_only=False)
        sums[name].update(values.astype(values.dtype.newbyteorder("<")))
    else:
        raise FormatError(f"the column {name!r} has Arrow type {kind}, which no converted file has")


def _kind_of(dimension: int | None) -> str:
    return "labels" if dimension is None else f"points of {dimension} coordinates"


def _lists(paths: Sequence[Any], places: Any, absent: Any = None) -> Any:
    import pyarrow as pa

    offsets = np.zeros(len(paths) + 1, dtype=np.int32)
    np.cumsum([len(path) for path in paths], out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(places), mask=absent)


def _points(paths: Sequence[Any], dimension: int) -> Any:
    import pyarrow as pa

    together = np.concatenate([*paths, np.empty((0, dimension))])
    return pa.FixedSizeListArray.from_arrays(pa.array(together.ravel()), dimension)


def _dense(items: Sequence[Any], dimension: int) -> Any:
    import pyarrow as pa

    walks = [np.empty((0, dimension)) if item.dense is None else item.dense for item in items]
    for item, walk in zip(items, walks, strict=True):
        if dimension_of(walk) != dimension:
            raise FormatError(
                f"episode {item.episode!r}: its dense walk has {_kind_of(dimension_of(walk))}, expected "
                f"{_kind_of(dimension)}"
            )
    return _lists(walks, _points(walks, dimension), pa.array([item.dense is None for item in items]))
