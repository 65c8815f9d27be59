"""NDH's ratings: after a game, its two people rated each other; a game has several walks, one after each answer.

The walk of the navigator (`player_path`) is measured against the route that the oracle was shown (`planner_path`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wayscore.errors import FormatError
from wayscore.formats.decoding import decode_each, place
from wayscore.formats.files import Fault, Source
from wayscore.formats.rated import RatedWalk, RatedWalks, check_names, check_rating
from wayscore.formats.trajectories import Name

EXPECTED = (
    'NDH references with ratings: [{"inst_idx": ..., "game_idx": ..., "scan": ..., "planner_path": [...], '
    '"player_path": [...], "navigator_game_quality": ..., "oracle_game_quality": ...}, ...]'
)
MEANINGS = {
    "navigator_game_quality": "the oracle, who saw the best route, on the navigator, who walked; 1 to 5, once a game",
    "oracle_game_quality": "the navigator, who walked, on the oracle, who gave directions; 1 to 5, once a game",
}
NOTES = (
    "People rated their partner in a whole game: help, patience, and how long it took, not how faithful a walk was.",
    "Most ratings are the best one possible, so ranks have many ties and correlations are small (range restriction).",
    "One rating is about all walks of a game, so the metrics of its walks are averaged first.",
)


class RatedInstance(Struct, gc=False):
    """One record of a reference file, as far as ratings need it."""

    inst_idx: Name
    game_idx: Name
    scan: str
    planner_path: list[str]
    player_path: list[str]
    navigator_game_quality: float
    oracle_game_quality: float
    R2R_success: float | None = None
    R2R_oracle_success: float | None = None


def read_ndh_rated(sources: Sequence[Source]) -> RatedWalks:
    """Read the walks and ratings of one or more splits; the same game must have the same ratings everywhere."""
    walks: dict[str, RatedWalk] = {}
    games: dict[str, dict[str, float]] = {}
    for source in sources:
        for number, record in decode_each(source, RatedInstance, names=("inst_idx",), expected=EXPECTED):
            ratings = {name: float(getattr(record, name)) for name in MEANINGS}
            game, name = str(record.game_idx), f"instance {record.inst_idx}"
            fault, field = _fault(record, ratings, games.setdefault(game, ratings))
            if fault:
                where = place(number, source)
                named = Fault(fault, where, str(record.inst_idx), f"field {field!r}", EXPECTED)
                raise FormatError(named.of(source))
            check_names(walks, name, source)
            recorded = {"SR": record.R2R_success, "OSR": record.R2R_oracle_success}
            walks[name] = RatedWalk(
                name,
                record.scan,
                record.planner_path,
                record.player_path,
                ratings,
                {"game": game, "scan": record.scan},
                {metric: value for metric, value in recorded.items() if value is not None},
            )
    return RatedWalks("NDH", list(walks.values()), MEANINGS, "game", "game", NOTES)


def _fault(record: RatedInstance, ratings: dict[str, float], before: dict[str, float]) -> tuple[str, str]:
    """Return what is wrong with a record and in which field, or two empty texts."""
    for field in ("planner_path", "player_path"):
        if not getattr(record, field):
            return "is empty; a walk has one node at least", field
    for field, value in ratings.items():
        if fault := check_rating(value):
            return fault, field
        if value != before[field]:
            return f"is {value:g}, but {before[field]:g} in another record of game {record.game_idx}", field
    return "", ""
