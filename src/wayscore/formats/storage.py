"""Files on this machine, or anywhere that fsspec reaches (s3://bucket/run.parquet): found, opened, written whole.

Addresses are texts. Arrow's file systems do the work; what is ours is what they do not promise: a file appears under
its name when all of it is there and not before, and every error names the address in one sentence.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from wayscore.errors import FormatError, MissingPackageError, OutputError, first_line

if TYPE_CHECKING:
    from wayscore.formats.files import Source

TABLES = (".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".json", ".json.gz", ".csv", ".csv.gz")
"""Endings of the files in a folder that are answers of a run."""
HIDDEN = ("_", ".")
"""Names that begin so are notes of the programs that wrote a folder."""
PARTS = ".parts"
"""Added to the name of a result that is made in parts: the folder of these."""
UNFINISHED = ".unfinished"
"""Added to the name of a file while it is written."""


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
    """Return Arrow's file system of an address, and the path there."""
    from pyarrow import fs

    if not is_remote(address):
        return fs.LocalFileSystem(), address
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingPackageError(
            f"{address}: such addresses need fsspec, which is not installed: pip install 'wayscore[cluster]'"
        ) from None
    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:  # the scheme's own package is missing, or there is none
        raise FormatError(f"{address}: {_words(error)}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def find_files(address: str) -> list[str]:
    """Return the files that an address means: itself, all that a pattern matches, or all tables in a folder, by name.

    Raises:
        FormatError: there are none.
    """
    if glob.has_magic(address) and not os.path.exists(address):
        found = _matching(address)
        if not found:
            raise FormatError(f"{address}: matches no file; check the folder and the pattern")
        return found
    if is_remote(address):
        inside = _remote_files(address)
    elif os.path.isdir(address):
        inside = [os.path.join(folder, name) for folder, _, names in os.walk(address) for name in names]
    else:
        return [address]
    if found := sorted(filter(_is_table, inside)):
        return found
    raise FormatError(
        f"{address}: this folder holds none of {', '.join(TABLES)}; name the folder of a run, or its file"
    )


def _remote_files(address: str) -> list[str]:
    from pyarrow import fs

    system, path = system_of(address)
    try:
        kind = system.get_file_info(path).type
        if kind == fs.FileType.Directory:
            scheme = address.partition("://")[0] + "://"
            return [scheme + entry.path for entry in system.get_file_info(fs.FileSelector(path, recursive=True))]
    except OSError as error:
        raise FormatError(f"{address}: cannot be read: {_words(error)}") from None
    if kind == fs.FileType.NotFound:
        raise FormatError(f"{address}: no such file")
    return [address]


def _matching(pattern: str) -> list[str]:
    if not is_remote(pattern):
        return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    system, path = system_of(pattern)
    inner = system.handler.fs
    return sorted(inner.unstrip_protocol(found) for found in inner.glob(path))


def _is_table(path: str) -> bool:
    *folders, name = PurePosixPath(path.replace(os.sep, "/")).parts
    unfinished = any(folder.endswith(PARTS) for folder in folders)
    return name.endswith(TABLES) and not name.startswith(HIDDEN) and not unfinished


def open_file(address: str) -> IO[bytes]:
    """Open a file to be read from anywhere in it."""
    if is_remote(address):
        return cast("IO[bytes]", open_native(address))
    try:
        return open(address, "rb")
    except FileNotFoundError:
        raise FormatError(f"{address}: no such file") from None
    except OSError as error:
        raise FormatError(f"{address}: cannot be read: {_words(error)}") from None


def open_native(address: str) -> Any:
    """Open a file as Arrow's readers like it best."""
    system, path = system_of(address)
    try:
        return system.open_input_file(path)
    except FileNotFoundError:
        raise FormatError(f"{address}: no such file") from None
    except OSError as error:
        raise FormatError(f"{address}: cannot be read: {_words(error)}") from None


def parquet_file(content: Any, **options: Any) -> Any:
    """Open Parquet (a file that is open, or bytes), whose pages are checked while they are read."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(content, page_checksum_verification=True, **options)


def parquet_table(source: Source) -> Any:
    """Read a Parquet file's content, unless it would fill the memory."""
    import pyarrow as pa

    from wayscore.formats import files

    with damage(str(source)):
        file = parquet_file(pa.BufferReader(source.content))
        sizes = (file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups))
        if sum(sizes) > files.SIZE_LIMIT:
            raise FormatError(f"{source}: has more than {files.SIZE_LIMIT:,} bytes when decompressed; split it")
        return file.read()


def parquet_bytes(table: Any) -> bytes:
    """Return a table as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none")
    return bytes(sink.getvalue())


@contextmanager
def damage(address: str) -> Iterator[None]:
    """Say of what cannot be read that the file is damaged."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{address}: is damaged Parquet ({first_line(error)}); copy or write it again") from None


def exists(address: str) -> bool:
    """Say whether there is a file or folder."""
    from pyarrow import fs

    system, path = system_of(address)
    return bool(system.get_file_info(path).type != fs.FileType.NotFound)


def is_folder(address: str) -> bool:
    """Say whether there is a folder."""
    from pyarrow import fs

    system, path = system_of(address)
    return bool(system.get_file_info(path).type == fs.FileType.Directory)


def stamp(address: str) -> str:
    """Return what changes when a file does: its size and when it was written."""
    if not is_remote(address):
        found = os.stat(address)
        return f"{found.st_size}@{found.st_mtime_ns}"
    system, path = system_of(address)
    info = system.get_file_info(path)
    return f"{info.size}@{info.mtime_ns}"


@contextmanager
def replacing(address: str) -> Iterator[IO[bytes]]:
    """Open a file to be written; it gets its name when it is complete, and leaves nothing behind when it fails."""
    system, path = system_of(address)
    unfinished = path + UNFINISHED
    try:
        if parent := os.path.dirname(path):
            system.create_dir(parent, recursive=True)
        with system.open_output_stream(unfinished) as stream:
            yield cast("IO[bytes]", stream)
        system.move(unfinished, path)
    except OSError as error:
        _discard(system, unfinished)
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{address}: cannot be written: {_words(error)}; choose another place") from None
    except BaseException:
        _discard(system, unfinished)
        raise


def move(source: str, target: str) -> None:
    """Give a file or folder another name, in place of what had it."""
    system, path = system_of(source)
    remove(target)
    try:
        system.move(path, system_of(target)[1])
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {_words(error)}; choose another place") from None


def remove(address: str) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    from pyarrow import fs

    system, path = system_of(address)
    kind = system.get_file_info(path).type
    if kind == fs.FileType.Directory:
        system.delete_dir(path)
    elif kind != fs.FileType.NotFound:
        system.delete_file(path)


def names_in(address: str) -> list[str]:
    """Return the names of all that is in a folder; none where there is no such folder."""
    from pyarrow import fs

    system, path = system_of(address)
    inside = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [PurePosixPath(entry.path).name for entry in inside]


def _discard(system: Any, path: str) -> None:
    with suppress(OSError):  # it was never made, or its disk is gone
        system.delete_file(path)


def _words(error: BaseException) -> str:
    """Return what the system says in a few words: Arrow puts the path and the number of the error around it."""
    if isinstance(error, FileExistsError):  # the only thing that is made and not replaced is a folder
        return "not a directory"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return first_line(error)


class ParquetOut:
    """A Parquet file that is being written: tables are added, and at last what the file says of itself."""

    def __init__(self, writer: Any, schema: Any) -> None:
        self.add = writer.write_table
        self._writer = writer
        self._schema = schema

    def describe(self, metadata: Mapping[bytes, bytes]) -> None:
        """Say something of the file that is known only after its rows; readers find it in the schema's metadata."""
        import base64

        schema = self._schema.with_metadata({**(self._schema.metadata or {}), **metadata})
        arrow = base64.b64encode(schema.serialize().to_pybytes())
        self._writer.add_key_value_metadata({**metadata, b"ARROW:schema": arrow})


@contextmanager
def writing_parquet(address: str, schema: Any) -> Iterator[ParquetOut]:
    """Open a Parquet file to be written; it gets its name when it is complete.

    Numbers are stored as they are, since scores hardly repeat; pages carry checksums.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = [field.name for field in schema if not pa.types.is_floating(field.type)]
    words += [f"{field.name}.list.element" for field in schema if pa.types.is_list(field.type)]
    options = {"use_dictionary": words, "write_statistics": words, "write_page_checksum": True}
    try:
        with replacing(address) as stream, pq.ParquetWriter(stream, schema, compression="lz4", **options) as writer:
            yield ParquetOut(writer, schema)
    except pa.ArrowException as error:
        raise OutputError(f"{address}: cannot be written: {first_line(error)}; choose another place") from None
