"""The conventions that come with wayscore, by name, and how signatures name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wayscore.convention.choices import CHOICES, PAPER, Convention
from wayscore.convention.files import read_convention
from wayscore.errors import OptionError, did_you_mean, shortened

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
    about="VLN-CE, NaVILA, JanusVLN: FastDTW to the dense path; NE by the distance given, not by a navmesh",
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
    about="ETPNav and BEVBert in VLN-CE: the threshold itself is a success, and no stop is required",
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
    replace(PAPER, name="r4r", about="the paper authors' released scorer: nDTW, SDTW and CLS", metrics=R4R_METRICS),
    replace(
        PAPER,
        name="r4r-hops",
        about="the same on a graph whose edges were loaded as True: distances are hops",
        distance="hops",
        metrics=R4R_METRICS,
    ),
    Convention(
        name="r2r",
        about="the official R2R evaluator: three instructions per path, every step must be an edge",
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
        about="HAMT, DUET, BEVBert, NaviLLM: SPL compares with the reference's length, missing answers are left out",
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
        about="HAMT and DUET on REVERIE: SPL compares with the reference's length, missing answers are left out",
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
        about="Discrete-Continuous-VLN: as etpnav, but a stop is required and both paths are resampled every 0.25 m",
        stop="required",
        repeats="keep",
        path_step=0.25,
        path_step_by="moves",
    ),
    replace(
        _VLNCE,
        name="navid",
        about="NaVid and NAVIDA: as vlnce, and unreachable episodes count as 0, even in NE",
        undefined="zero",
    ),
    replace(
        _VLNCE,
        name="streamvln",
        about="StreamVLN: as vlnce without nDTW; unreachable episodes make its means NaN, which is an error here",
        undefined="error",
        metrics=("SR", "SPL", "OSR", "NE"),
    ),
    replace(
        _VLNCE,
        name="internnav-h",
        about="InternNav in Habitat: exact warping; unreachable episodes are left out of the mean NE",
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
        about="VLN-Transformer on Touchdown and map2seq: hops, nDTW by the square root of |R|, edits of nodes",
        threshold=2.0,
        comparison="<",
        distance="hops",
        normalizer="sqrt R",
        sed="nodes",
        cls="nodes",
        metrics=("SR", "NE", "SED", *R4R_METRICS),
    ),
    Convention(
        name="touchdown-valan",
        about="VALAN on Touchdown: hops along directed links, edits of nodes by |R| |Q|",
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
    """Return a convention by name (in any case), from a TOML file, or as it is.

    >>> find_convention("DUET").spl_length
    'reference'
    """
    if isinstance(wanted, Convention):
        return wanted
    if not isinstance(wanted, str | Path):
        raise OptionError(f"convention must be a name, a .toml file or a Convention, got {shortened(wanted)}")
    if str(wanted).endswith(".toml"):
        return read_convention(Path(wanted), find_convention)
    name = str(wanted).lower()
    if name not in CONVENTIONS:
        raise OptionError(
            f"there is no convention {shortened(str(wanted))}{did_you_mean(wanted, CONVENTIONS) or '.'} "
            f"Known: {', '.join(CONVENTIONS)}, or a .toml file of your own"
        )
    return CONVENTIONS[name]


def signed(convention: Convention) -> str:
    """Return what signatures call a convention: its name, and every choice of a changed one that is not the paper's.

    >>> signed(PAPER)
    'paper'
    >>> signed(replace(PAPER, name="mine", comparison="<", repeats="drop"))
    'mine(comparison=<,repeats=drop)'
    """
    if convention == CONVENTIONS.get(convention.name):
        return convention.name
    changes = convention.differences(PAPER)
    changes.pop("metrics", None)  # which numbers are printed changes none of them
    return f"{convention.name}({','.join(f'{choice}={mine}' for choice, (mine, _) in changes.items())})"


def read_signed(text: str) -> Convention:
    """Return the convention that `signed` named.

    >>> read_signed("vlnce").reference
    'dense'
    >>> read_signed("mine(comparison=<,path_step=0.5)").path_step
    0.5
    """
    if text in CONVENTIONS:
        return CONVENTIONS[text]
    name, _, changes = text.removesuffix(")").partition("(")
    found: dict[str, Any] = {}
    for change in changes.split(","):
        choice, _, value = change.partition("=")
        kind = type(getattr(PAPER, choice, None))
        if value in CHOICES.get(choice, ()):
            found[choice] = value
        elif kind in (int, float):
            try:
                found[choice] = kind(value)
            except ValueError:
                continue  # written by another version, or by hand
    return replace(PAPER, name=name, about="", **found)
