"""The conventions that come with wayscore, by name, and those that users write as TOML.

base = "duet"          # what it starts from; "paper" by default
comparison = "<="
threshold = 2.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wayscore.convention import CHOICES, PAPER, Convention
from wayscore.errors import FormatError, OptionError, did_you_mean

R2R_METRICS = ("PL", "NE", "ONE", "SR", "OSR", "SPL")
R4R_METRICS = ("CLS", "DTW", "nDTW", "SDTW")
_ENVDROP = Convention(
    name="envdrop",
    about="R2R-EnvDrop, Recurrent-VLN-BERT and EnvEdit: strict comparison, SPL's denominator at least 0.01",
    comparison="<",
    spl_floor=0.01,
    spl_at_goal="zero",
)
_VLNCE = Convention(
    name="vlnce",
    about="VLN-CE, NaVILA, JanusVLN: FastDTW to the dense walk; NE by the distance given, not by a navmesh",
    comparison="<",
    stop="required",
    reference="dense",
    repeats="drop",
    warping="fast",
    spl_length="dataset",
    metrics=(*R2R_METRICS, "DTW", "nDTW", "SDTW"),
)
_ETPNAV = replace(
    _VLNCE,
    name="etpnav",
    about="ETPNav and BEVBert in VLN-CE: the threshold itself is a success, and no stop is asked for",
    comparison="<=",
    stop="any",
)
_REVERIE = Convention(
    name="reverie",
    about="the official REVERIE evaluator: a success ends where the object can be seen",
    goal="set",
    metrics=("PL", "SR", "OSR", "SPL"),
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
    _REVERIE,
    replace(
        _REVERIE,
        name="reverie-duet",
        about="HAMT and DUET on REVERIE: SPL compares with the reference's length, absent answers are left out",
        spl_length="reference",
        spl_floor=0.01,
        spl_at_goal="zero",
        missing="skip",
    ),
    _VLNCE,
    replace(_VLNCE, name="vlnce-exact", about="the same with exact warping (VLN-CE with FDTW off)", warping="exact"),
    _ETPNAV,
    replace(
        _ETPNAV,
        name="cwp",
        about="Discrete-Continuous-VLN: as etpnav, but a stop is asked for and both walks are sampled every 0.25 m",
        stop="required",
        repeats="keep",
        resample=0.25,
        resampling="moves",
    ),
    replace(
        _VLNCE,
        name="navid",
        about="NaVid and NAVIDA: as vlnce, and what no way exists for counts as 0, even in NE",
        undefined="zero",
    ),
    replace(
        _VLNCE,
        name="streamvln",
        about="StreamVLN: as vlnce without nDTW; where no way exists its means are NaN, which is an error here",
        undefined="error",
        metrics=("SR", "SPL", "OSR", "NE"),
    ),
    replace(
        _VLNCE,
        name="internnav-h",
        about="InternNav in Habitat: exact warping; what no way exists for leaves the mean of NE",
        warping="exact",
        metrics=("SR", "SPL", "OSR", "NE", "nDTW"),
    ),
    Convention(
        name="internnav-pe",
        about="InternNav's physical evaluator: the plane only; what it calls ndtw is the Gaussian proximity",
        comparison="<",
        plane="all",
        oracle="after start",
        spl_length="dataset",
        spl_at_goal="moved",
        metrics=("PL", "NE", "SR", "OSR", "SPL", "proximity"),
    ),
    Convention(
        name="habitat",
        about="Habitat's point and object goals: within 0.2 m of the goal, and SoftSPL",
        threshold=0.2,
        comparison="<",
        stop="required",
        spl_length="dataset",
        metrics=("NE", "SR", "SPL", "SoftSPL"),
    ),
    Convention(
        name="aerialvln",
        about="AerialVLN: 20 m in the plane to the goal, nDTW in space by FastDTW",
        threshold=20.0,
        plane="goal",
        repeats="drop",
        warping="fast",
        spl_at_goal="zero",
        metrics=("NE", "ONE", "SR", "OSR", "SPL", "SoftSPL", "PL", "nDTW", "SDTW"),
    ),
    Convention(
        name="openfly",
        about="OpenFly: 20 m in space; SPL divides the straight line by the agent's length, so it can exceed 1",
        threshold=20.0,
        comparison="<",
        oracle="after start",
        spl_divisor="own",
        metrics=("NE", "SR", "OSR", "SPL"),
    ),
    Convention(
        name="citynav",
        about="CityNav: 20 m in the plane",
        threshold=20.0,
        plane="all",
        metrics=("NE", "ONE", "SR", "OSR", "SPL"),
    ),
    Convention(
        name="touchdown-vlnt",
        about="VLN-Transformer on Touchdown and map2seq: hops, nDTW by the square root of |R|, edits of places",
        threshold=2.0,
        comparison="<",
        distance="hops",
        normalizer="sqrt R",
        sed="places",
        cls="places",
        metrics=("SR", "NE", "SED", *R4R_METRICS),
    ),
    Convention(
        name="touchdown-valan",
        about="VALAN on Touchdown: hops along the links as they lead, edits of places by |R| |Q|",
        threshold=2.0,
        comparison="<",
        distance="directed hops",
        sed="product",
        metrics=("NE", "SR", "SED", "DTW", "nDTW", "SDTW"),
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
