"""Long work in parts: each is a Parquet file that appears when it is finished; put together, they are the result.

A part says what it was made from and how. Whoever goes on later keeps the parts that say what is wanted now, and makes
the others again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wayscore.errors import FormatError, OutputError
from wayscore.formats import storage

MADE_FROM = b"wayscore.made_from"
"""The key under which a part says what it was made from."""

ROWS_AT_ONCE = 65_536
"""Rows in memory while a part is read."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one result.

    Attributes:
        target: the result: a file where it ends in .parquet, otherwise a folder of the parts.
    """

    target: str

    @property
    def folder(self) -> str:
        """Where the parts are until the result is complete."""
        return self.target.rstrip("/") + storage.PARTS

    def path(self, number: int) -> str:
        """Return where a part is."""
        return f"{self.folder}/part-{number:06d}.parquet"

    def is_finished(self, number: int, made_from: str) -> bool:
        """Say whether a part is there and was made from this."""
        import pyarrow as pa

        if not storage.exists(self.path(number)):
            return False
        try:
            schema, _ = _opened(self.path(number))
        except (FormatError, pa.ArrowException, OSError):  # torn by a machine that stopped
            return False
        return bool((schema.metadata or {}).get(MADE_FROM) == made_from.encode())

    @contextmanager
    def writing(self, number: int, schema: Any, made_from: str) -> Iterator[Callable[[Any], None]]:
        """Give a function that adds a table to a part; the part is there when all of them are."""
        metadata = {**(schema.metadata or {}), MADE_FROM: made_from}
        with written(self.path(number), schema.with_metadata(metadata)) as add:
            yield add

    def keep(self, number: int, note: bytes) -> None:
        """Write a note beside a part, before the part itself is there."""
        with storage.replacing(self._note(number)) as stream:
            stream.write(note)

    def note(self, number: int) -> bytes | None:
        """Return the note beside a part, None if there is none."""
        if not storage.exists(self._note(number)):
            return None
        with storage.open_file(self._note(number)) as stream:
            return bytes(stream.read())

    def _note(self, number: int) -> str:
        return self.path(number).removesuffix(".parquet") + ".note"

    def rows(self, number: int) -> Iterator[Any]:
        """Go through the record batches of a part."""
        yield from read_batches(self.path(number))

    def schema(self, number: int) -> Any:
        """Return the columns of a part."""
        return _opened(self.path(number))[0]

    def assemble(self, count: int, metadata: dict[bytes, bytes] | None = None) -> None:
        """Put the first parts together under the result's name, and remove the folder.

        Args:
            count: how many parts there are.
            metadata: what the file says of itself beside what the parts say.
        """
        if not self.target.endswith(".parquet"):
            kept = {self.path(number).rpartition("/")[2] for number in range(count)}
            for name in storage.names_in(self.folder):
                if name not in kept:  # notes, and what others left who were interrupted
                    storage.remove(f"{self.folder}/{name}")
            storage.move(self.folder, self.target.rstrip("/"))
            return
        schema, _ = _opened(self.path(0))
        own = {key: value for key, value in (schema.metadata or {}).items() if key != MADE_FROM}
        with written(self.target, schema.with_metadata({**own, **(metadata or {})})) as add:
            for number in range(count):
                for table in _tables(self.path(number)):
                    if table.schema.names != schema.names:
                        raise FormatError(
                            f"{self.target}: some files of the run give the columns {', '.join(schema.names)}, others "
                            f"{', '.join(table.schema.names)}; give all of them the same"
                        )
                    add(table)
        self.remove()

    def remove(self) -> None:
        """Remove the parts."""
        storage.remove(self.folder)


def read_batches(address: str) -> Iterator[Any]:
    """Go through the record batches of a Parquet file."""
    _, file = _opened(address)
    with file:
        yield from file.iter_batches(batch_size=ROWS_AT_ONCE)


@contextmanager
def written(address: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Give a function that adds a table to a Parquet file; it gets its name when it is complete.

    Numbers are stored as they are, since scores hardly repeat; pages carry checksums.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = [field.name for field in schema if not pa.types.is_floating(field.type)]
    words += [f"{field.name}.list.element" for field in schema if pa.types.is_list(field.type)]
    try:
        with (
            storage.replacing(address) as stream,
            pq.ParquetWriter(
                stream,
                schema,
                compression="lz4",
                use_dictionary=words,
                write_statistics=words,
                write_page_checksum=True,
            ) as writer,
        ):
            yield writer.write_table
    except pa.ArrowException as error:
        raise OutputError(f"{address}: cannot be written: {error}") from None


def _opened(address: str) -> tuple[Any, Any]:
    file = storage.parquet_file(storage.open_file(address))
    return file.schema_arrow, file


def _tables(address: str) -> Iterable[Any]:
    import pyarrow as pa

    schema, file = _opened(address)
    with file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number).replace_schema_metadata(None).cast(pa.schema(schema, metadata=None))
