"""The formats that wayscore reads by itself, by name; those of other packages come besides (`base.choose`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from wayscore.formats.base import Format


class _Formats(Mapping[str, Format]):
    """Formats in the order in which they are asked whether a file is theirs; each is imported when it is."""

    names = ("r2r", "r4r", "rxr", "ndh", "reverie", "vlnce", "street", "recorder", "table")

    def __getitem__(self, name: str) -> Format:
        if name not in self.names:
            raise KeyError(name)
        home = "r2r" if name == "r4r" else name
        found: Format = getattr(import_module(f"wayscore.formats.{home}"), f"{name.upper()}_FORMAT")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


FORMATS: Mapping[str, Format] = _Formats()
