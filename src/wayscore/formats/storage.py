"""Files on this machine, or anywhere that fsspec reaches (s3://bucket/run.parquet): opened and read.

Addresses are texts, and every error names the address in one sentence. Files are written on this machine only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from wayscore import reading, writing
from wayscore.errors import FormatError, MissingPackageError, WayscoreError, first_line

ROWS_AT_ONCE = 65_536
"""Rows of Parquet that are read at once."""
FORMAT, OPTIONS, UP_AXIS = b"wayscore.format", b"wayscore.options", b"wayscore.up_axis"
"""Where a converted file says in its metadata which format its rows were read from, with which settings of that reader
(as `load_references` adds them to a name), and which coordinate of its points points up."""


def is_remote(address: str) -> bool:
    """Say whether an address names another system than this machine's files.

    >>> is_remote("s3://bucket/run.parquet"), is_remote("runs/run.parquet")
    (True, False)
    """
    return "://" in address


def absolute(address: str) -> str:
    """Return an address that means the same from any folder of this machine."""
    return address if is_remote(address) else os.path.abspath(address) + ("/" if address.endswith("/") else "")


def system_of(address: str) -> tuple[Any, str]:
    """Return fsspec's file system of a remote address, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingPackageError(
            f"{address}: such addresses need fsspec, which is not installed: pip install 'wayscore[cluster]'"
        ) from None
    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:  # the scheme's own package is missing, or there is none
        raise FormatError(f"{address}: {writing.in_few_words(error)}") from None
    return system, path


@contextmanager
def open_file(address: str) -> Iterator[IO[bytes]]:
    """Open a file to be read from anywhere in it; what the system refuses then is an error that names it."""
    with readable(address):
        system, path = system_of(address) if is_remote(address) else (None, address)
        with open(path, "rb") if system is None else system.open(path, "rb") as stream:
            yield stream


@contextmanager
def readable(address: str) -> Iterator[None]:
    """Say of a file that cannot be opened why."""
    try:
        yield
    except FileNotFoundError:
        raise FormatError(f"{address}: no such file") from None
    except OSError as error:
        raise FormatError(f"{address}: cannot be read: {writing.in_few_words(error)}") from None


def parquet_file(where: str, content: bytes | None = None, *, coded: bool = False) -> Any:
    """Open a Parquet file, or its content; its pages are checked while they are read.

    A file with a row group that would fill the memory is refused. `coded`: names of episodes, scenes and nodes are
    read as codes of dictionaries.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream: Any
    with readable(where):
        if content is not None:
            stream = pa.BufferReader(content)
        elif is_remote(where):
            system, path = system_of(where)
            stream = pa.PythonFile(system.open(path, "rb"), mode="r")
        else:
            stream = pa.OSFile(where)
    with damage(where):
        options = {}
        if coded:
            metadata = pq.read_metadata(stream)
            leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            lists = ("path.", "query.", "reference.")
            named = [path for path in texts if path in ("episode", "scene") or path.startswith(lists)]
            options = {"metadata": metadata, "read_dictionary": named}
        file = pq.ParquetFile(stream, page_checksum_verification=True, **options)
        file.schema_arrow.names  # noqa: B018 - names that are not UTF-8 are found here, and nowhere else
        most = reading.size_limit()
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        # Bytes that each has at least: asking Arrow for its columns can end the process.
        if max((max(group.total_byte_size, group.num_rows) for group in groups), default=0) > most:
            raise reading.too_large(f"{where}, in one of its row groups", most, " when decompressed")
        return file


def parquet_table(where: str, content: bytes | None = None) -> Any:
    """Read a Parquet file, or its content, unless it would fill the memory."""
    import pyarrow as pa

    most, size, batches = reading.size_limit(), 0, []
    with damage(where), parquet_file(where, content) as file:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            batch.validate(full=True)  # codes of names beyond their list, offsets beyond their values
            size += batch.nbytes  # a value that is repeated takes no room in the file
            if size > most:
                raise reading.too_large(where, most, " when decompressed")
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow)


@contextmanager
def damage(address: str) -> Iterator[None]:
    """Say of what cannot be read that the file is damaged."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:  # also Arrow's
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, IndexError) as error:
        if isinstance(error, WayscoreError):
            raise
        raise FormatError(f"{address}: is damaged Parquet ({first_line(error)}); copy or write it again") from None


@contextmanager
def writing_parquet(path: str, schema: Any) -> Iterator[Any]:
    """Open a Parquet file to be written; it gets its name when it is complete.

    Numbers are stored as they are, since scores hardly repeat; pages carry checksums.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = [field.name for field in schema if not pa.types.is_floating(field.type)]
    words += [f"{field.name}.list.element" for field in schema if pa.types.is_list(field.type)]
    options = {"use_dictionary": words, "write_statistics": words, "write_page_checksum": True}
    try:
        whole = writing.replacing(path, folders=True)
        with whole as stream, pq.ParquetWriter(stream, schema, compression="lz4", **options) as writer:
            yield writer
    except pa.ArrowException as error:
        raise writing.unwritable(path, error) from None
