"""Conventions: named, frozen sets of the choices that change a number.

The field's evaluators disagree in silence; each that is reproduced here is a value, and every field of it is a choice
that some evaluator makes differently. Users write their own as TOML:

    base = "duet"          # what it starts from; "paper" by default
    comparison = "<="
    threshold = 2.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from wayscore.errors import FormatError, OptionError, did_you_mean

R2R_METRICS = ("PL", "NE", "ONE", "SR", "OSR", "SPL")
R4R_METRICS = ("CLS", "DTW", "nDTW", "SDTW")
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "comparison": ("<=", "<"),
        "goal": ("last", "set"),
        "stop": ("any", "required"),
        "distance": ("given", "hops"),
        "reference": ("path", "dense"),
        "repeats": ("keep", "drop"),
        "warping": ("exact", "fast"),
        "normalizer": ("R", "sqrt R"),
        "spl_length": ("shortest", "reference", "goals"),
        "spl_at_goal": ("still", "zero"),
        "missing": ("error", "skip", "zero"),
        "unknown": ("error", "skip"),
        "move": ("keep", "error", "skip", "zero"),
    }
)
"""The values that each choice of words can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """Every choice that changes a number.

    Attributes:
        name: what `--convention` takes.
        about: whose evaluator it is.
        threshold: d_th, in the units of the distance.
        comparison: success is NE `<=` or `<` d_th.
        goal: "last" is the reference's last place, within the threshold; "set" is one of the episode's goals itself.
        stop: "required" where a query that never says that it stopped is no success; "any" where it may be.
        distance: "given", or "hops": every edge counts 1, whatever its length.
        reference: what DTW and its kin warp to: the reference "path", or the "dense" walk that some datasets give.
        repeats: "drop" takes places of a query that repeat the one before as one; "keep" scores each.
        warping: "exact", or "fast": FastDTW of radius 1, as the fastdtw package computes it.
        normalizer: what nDTW divides DTW by beside the threshold: |R|, or its square root.
        spl_length: the length that SPL compares with: the "shortest" way from start to the reference's end, the
            "reference"'s own, or the shortest to the nearest of the "goals".
        spl_floor: the least denominator of SPL, metres.
        spl_at_goal: SPL of an episode that starts at its goal: "still" is 1 if the agent stayed and 0 if it left,
            "zero" is 0.
        instructions: how many instructions of a path count, first ones first; 0 for all of them.
        missing: what becomes of references that a run does not answer (see `wayscore.episodes.POLICIES`).
        unknown: what becomes of answers to no reference.
        move: what becomes of queries that take a step that is no edge.
        metrics: what the evaluator prints; empty for all.
    """

    name: str
    about: str
    threshold: float = 3.0
    comparison: Literal["<=", "<"] = "<="
    goal: Literal["last", "set"] = "last"
    stop: Literal["any", "required"] = "any"
    distance: Literal["given", "hops"] = "given"
    reference: Literal["path", "dense"] = "path"
    repeats: Literal["keep", "drop"] = "keep"
    warping: Literal["exact", "fast"] = "exact"
    normalizer: Literal["R", "sqrt R"] = "R"
    spl_length: Literal["shortest", "reference", "goals"] = "shortest"
    spl_floor: float = 0.0
    spl_at_goal: Literal["still", "zero"] = "still"
    instructions: int = 0
    missing: Literal["error", "skip", "zero"] = "error"
    unknown: Literal["error", "skip"] = "error"
    move: Literal["keep", "error", "skip", "zero"] = "keep"
    metrics: tuple[str, ...] = ()

    @property
    def signed(self) -> str:
        """The name, and for a convention of one's own every choice in which it departs from the paper's.

        >>> find_convention("duet").signed
        'duet'
        >>> replace(PAPER, name="mine", comparison="<", repeats="drop").signed
        'mine(comparison=<,repeats=drop)'
        """
        if self == CONVENTIONS.get(self.name):
            return self.name
        departures = self.differences(PAPER)
        departures.pop("metrics", None)  # which numbers are printed changes none of them
        return f"{self.name}({','.join(f'{choice}={mine}' for choice, (mine, _) in departures.items())})"

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """Return the choices in which two conventions differ, with both values.

        >>> find_convention("paper").differences(find_convention("envdrop"))
        {'comparison': ('<=', '<'), 'spl_floor': (0.0, 0.01), 'spl_at_goal': ('still', 'zero')}
        """
        pairs = {
            field.name: (getattr(self, field.name), getattr(other, field.name))
            for field in fields(Convention)
            if field.name not in ("name", "about")
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


PAPER = Convention(name="paper", about="Ilharco et al. 2019, as its table of metrics defines them")
_ENVDROP = Convention(
    name="envdrop",
    about="R2R-EnvDrop, Recurrent-VLN-BERT and EnvEdit: strict comparison, SPL's denominator at least 0.01",
    comparison="<",
    spl_floor=0.01,
    spl_at_goal="zero",
)
_VLNCE = Convention(
    name="vlnce",
    about="VLN-CE, NaVid, NaVILA, JanusVLN: FastDTW to the dense walk; NE by the distance given, not by a navmesh",
    comparison="<",
    stop="required",
    reference="dense",
    repeats="drop",
    warping="fast",
    metrics=(*R2R_METRICS, "DTW", "nDTW", "SDTW"),
)
_PRESETS = (
    PAPER,
    replace(
        PAPER,
        name="r4r",
        about="the paper authors' released scorer: nDTW, SDTW and CLS",
        metrics=R4R_METRICS,
    ),
    replace(
        PAPER,
        name="r4r-hops",
        about="the same on a graph whose edges were loaded as True: distances are hops",
        distance="hops",
        metrics=R4R_METRICS,
    ),
    Convention(
        name="r2r",
        about="the official R2R evaluator: three instructions a path, every step must be an edge",
        comparison="<",
        instructions=3,
        unknown="skip",
        move="error",
        metrics=R2R_METRICS,
    ),
    _ENVDROP,
    replace(
        _ENVDROP,
        name="duet",
        about="HAMT, DUET, BEVBert, NaviLLM: SPL compares with the reference's length, absent answers are left out",
        spl_length="reference",
        missing="skip",
    ),
    Convention(
        name="cvdn",
        about="the official NDH evaluator: goal progress towards any of the end panoramas",
        comparison="<",
        metrics=(*R2R_METRICS, "GP"),
    ),
    Convention(
        name="cvdn-hamt",
        about="HAMT on NDH: a success ends at one of the end panoramas itself, SPL by the nearest of them",
        goal="set",
        spl_length="goals",
        spl_floor=0.01,
        spl_at_goal="zero",
        missing="skip",
        metrics=("PL", "SR", "OSR", "SPL", "GP"),
    ),
    Convention(
        name="reverie",
        about="the official REVERIE evaluator: a success ends where the object can be seen",
        goal="set",
        metrics=("PL", "SR", "OSR", "SPL"),
    ),
    _VLNCE,
    replace(_VLNCE, name="vlnce-exact", about="the same with exact warping (VLN-CE with FDTW off)", warping="exact"),
    replace(
        _VLNCE,
        name="etpnav",
        about="ETPNav and BEVBert in VLN-CE: the threshold itself is a success, and no stop is asked for",
        comparison="<=",
        stop="any",
    ),
    Convention(name="valan", about="VALAN (R2R and R4R), on the graphs given", comparison="<", spl_at_goal="zero"),
)
CONVENTIONS: Mapping[str, Convention] = MappingProxyType({preset.name: preset for preset in _PRESETS})
"""The conventions that come with wayscore, by name."""


def conventions() -> Mapping[str, Convention]:
    """Return the conventions that come with wayscore, by name.

    >>> "duet" in conventions()
    True
    """
    return CONVENTIONS


def find_convention(wanted: str | Path | Convention) -> Convention:
    """Return a convention by name, from a TOML file, or as it is.

    >>> find_convention("duet").spl_length
    'reference'
    """
    if isinstance(wanted, Convention):
        return wanted
    if str(wanted).endswith(".toml"):
        return _read(Path(wanted))
    if wanted not in CONVENTIONS:
        raise OptionError(
            f"there is no convention {str(wanted)!r}{did_you_mean(wanted, CONVENTIONS)} "
            f"Known: {', '.join(CONVENTIONS)}, or a .toml file of your own"
        )
    return CONVENTIONS[str(wanted)]


def _read(path: Path) -> Convention:
    import tomllib

    try:
        given = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: not TOML: {error}") from None
    base = find_convention(given.pop("base", "paper"))
    changes = {name: _checked(path, name, value) for name, value in given.items()}
    return replace(base, **{"name": path.stem, "about": f"{base.name}, changed by {path.name}", **changes})


def _checked(path: Path, name: str, value: Any) -> Any:
    """Return one field of a TOML file, if it is one and has a value that it can have."""
    kinds = {field.name: type(getattr(PAPER, field.name)) for field in fields(Convention)}
    if name not in kinds:
        raise FormatError(f"{path}: there is no choice {name!r}{did_you_mean(name, kinds)} Known: {', '.join(kinds)}")
    if name in CHOICES and value not in CHOICES[name]:
        raise FormatError(f"{path}: {name} must be one of {', '.join(CHOICES[name])}, got {value!r}")
    if kinds[name] is tuple:
        if not isinstance(value, list):
            raise FormatError(f'{path}: {name} must be a list such as ["SR", "nDTW"], got {value!r}')
        return tuple(value)
    if kinds[name] is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kinds[name]:
        raise FormatError(f"{path}: {name} must be a {kinds[name].__name__}, got {value!r}")
    return value
