"""Types of the files of scores that wayscore writes: rows of episodes, and what saved results say of themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from docs.building.schemas.runs import Bootstrap, Count, Value


class EpisodeScores(Struct):
    """The scores of one episode: one line of `wayscore score --episodes FILE.jsonl`.

    All further fields are metrics by symbol: fractions (not percent) and metres, null where they are undefined. The
    columns of .csv and .parquet files are the same.

    Attributes:
        episode: its name.
        scene: where it lies; only if that is known.
        path_id: the reference's path, which several episodes may share; only if there are references.
        reference_nodes: how many nodes or points the reference has; likewise.
        run: the number of the run; only where an agent has several.
    """

    episode: str
    scene: str | UnsetType = UNSET
    path_id: str | UnsetType = UNSET
    reference_nodes: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    run: Count | UnsetType = UNSET


class SavedReferences(Struct):
    """The references of a saved result.

    Attributes:
        name: of the file.
        fingerprint: a hash of their content.
        episodes: how many they are.
    """

    name: str
    fingerprint: str | UnsetType = UNSET
    episodes: Count | UnsetType = UNSET


class SavedSettings(Struct):
    """How a saved result was scored. There may be further fields, which describe the run.

    Attributes:
        convention: by name, with what was changed of it.
        version: of wayscore.
        policies: what was done about each kind of problem.
        references: null where the rows of the run have their own.
        format: of the run.
        undefined: by metric, how many episodes are left out of its mean.
        threshold: the success threshold d_th; not there if the scores come from another evaluator.
        repeats: what was done with repeated nodes.
        distance: kinds and hashes of the distances.
        unit: of the distances, if it is not metres.
    """

    convention: str
    version: str
    policies: dict[str, str]
    references: SavedReferences | None
    format: str
    undefined: dict[str, Count]
    threshold: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
    repeats: Literal["keep", "drop"] | UnsetType = UNSET
    distance: list[str] | UnsetType = UNSET
    unit: str | UnsetType = UNSET


class SavedMetric(Struct, forbid_unknown_fields=True):
    """A metric that is not found by its symbol alone.

    Attributes:
        symbol: the name of its column.
        name: in words.
        direction: whether higher or lower values are better; null where neither is.
        bounds: the least and the largest value; null where there is none.
        unit: of its values.
        formula: how it is computed.
    """

    symbol: str
    name: str
    direction: Literal["up", "down"] | None
    bounds: tuple[Value, Value]
    unit: str
    formula: str


class SavedResult(Struct, forbid_unknown_fields=True):
    """What a saved result (`wayscore score --save DIR`, `Result.save`) says of itself.

    It is JSON under the key `wayscore.result` in the metadata of a Parquet file, whose columns are those of
    scores-1.json.

    Attributes:
        name: what tables call the run.
        settings: how it was scored.
        episodes: how many episodes the means are over.
        problems: by kind, how many episodes have it, and the first of them: row, episode and details.
        bootstrap: what the intervals depend on.
        warnings: what a reader must know before believing the numbers.
        runs: how many runs of one agent these are.
        metrics: in the order of the columns; a symbol, or the facts of a metric that has no known one.
        intervals: by symbol, the mean and its interval.
    """

    name: str
    settings: SavedSettings
    episodes: Count
    problems: dict[str, tuple[Count, list[tuple[int, str, str]]]]
    bootstrap: Bootstrap
    warnings: list[str]
    runs: Annotated[int, Meta(ge=1)]
    metrics: Annotated[list[str | SavedMetric], Meta(min_length=1)]
    intervals: dict[str, tuple[Value, Value, Value]]
