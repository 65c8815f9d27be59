"""The signature: everything that a number depends on, in one line that can be read back.

    wayscore|version:0.2.0|convention:paper|threshold:3|distance:graph|references:R2R_val_unseen|episodes:2349

Two results may stand in one column only if their signatures agree but for the run itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wayscore.errors import FormatError, shortened

SHORT: Mapping[str, str] = MappingProxyType(
    dict(
        pair.split(":")
        for pair in (
            "version:v convention:c threshold:th repeats:rep distance:d references:r episodes:n runs:runs cluster:cl "
            "missing:miss unknown:unk duplicate:dup start:start move:move node:node undefined:undef goal:goal "
            "stop:stop up:up unrecorded:unrec"
        ).split()
    )
)
"""Each key and its short form, in the order in which they are printed."""
_LONG = {short: key for key, short in SHORT.items()}


@dataclass(frozen=True, slots=True)
class Signature:
    """The settings and circumstances of a result, by key (see `SHORT`), as text.

    >>> signature = Signature({"convention": "paper", "threshold": "3", "episodes": "2349"})
    >>> str(signature)
    'wayscore|convention:paper|threshold:3|episodes:2349'
    >>> signature.short()
    'wayscore|c:paper|th:3|n:2349'
    >>> Signature.parse(signature.short()) == signature
    True
    """

    fields: Mapping[str, str]

    def __str__(self) -> str:
        return "|".join(["wayscore", *(f"{key}:{self.fields[key]}" for key in SHORT if key in self.fields)])

    def short(self) -> str:
        """Return the same in short keys."""
        return "|".join(["wayscore", *(f"{SHORT[key]}:{self.fields[key]}" for key in SHORT if key in self.fields)])

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read a signature back, in long or short keys."""
        head, *parts = text.strip().split("|")
        if head != "wayscore":
            raise FormatError(f"a signature begins with 'wayscore|', got {text[:40]!r}")
        fields: dict[str, str] = {}
        for part in parts:
            key, colon, value = part.partition(":")
            key = _LONG.get(key, key)
            if not colon or key not in SHORT or key in fields:
                raise FormatError(f"a signature is made of key:value parts, each key once, got {shortened(part)}")
            fields[key] = value
        return cls({key: fields[key] for key in SHORT if key in fields})

    def differences(self, other: Signature) -> dict[str, tuple[str, str]]:
        """Return the keys in which two signatures differ, with both values ("" where one does not have the key).

        >>> Signature({"threshold": "3"}).differences(Signature({"threshold": "2"}))
        {'threshold': ('3', '2')}
        """
        pairs = {key: (self.fields.get(key, ""), other.fields.get(key, "")) for key in SHORT}
        return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
