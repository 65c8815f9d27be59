"""score_stream: a run of any size, in bounded memory, on all cores or a cluster; the digits do not depend on which."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np

from wayscore.convention import Convention
from wayscore.convention.presets import find_convention
from wayscore.episodes import References
from wayscore.episodes.targets import Course, lay_out
from wayscore.errors import FormatError, OptionError, OutputError, did_you_mean
from wayscore.evaluation.engines import engine_of
from wayscore.evaluation.parts import Parts
from wayscore.evaluation.summary import Summary, make_signature
from wayscore.evaluation.work import POLICIES, SETTINGS, Done, Task, worst_values
from wayscore.formats import load_references
from wayscore.formats.graphs import distances_for
from wayscore.formats.plan import Piece, plan
from wayscore.formats.storage import TABLES, absolute, is_folder, names_in
from wayscore.metrics import find_metrics
from wayscore.statistics.bootstrap import units_of
from wayscore.statistics.tally import Tally
from wayscore.warping.alignment import check_threshold

ROWS_AT_ONCE = 65_536
"""Rows in a worker's memory, by default."""
WHOLE = ("missing", "duplicate")
"""Problems of a run as a whole: what is done about them changes no score of a part."""
OWN = "rows"
"""What signatures call the references where rows carry their own."""


def score_stream(
    run: str | Path,
    references: References | str | Path | None = None,
    *,
    graphs: Mapping[str, Any] | str | Path | None = None,
    convention: str | Path | Convention = "paper",
    threshold: float | None = None,
    metrics: Any = None,
    policies: Mapping[str, str | None] | None = None,
    cluster: str = "none",
    episodes: str | Path | None = None,
    resume: bool = False,
    workers: int = 1,
    engine: str = "local",
    scheduler: str | None = None,
    rows: int = ROWS_AT_ONCE,
    seed: int = 0,
    resamples: int = 10_000,
    name: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Summary:
    """Score a run of any size in bounded memory.

    Args:
        run: a Parquet or JSONL file, a folder of them, or a pattern such as "runs/*.parquet"; any address that fsspec
            knows. All of it is one run.
        references: what was asked for; None where rows carry a `scene` and a `reference` of their own.
        graphs: connectivity files, or scene -> distance; not needed for coordinates.
        convention: the set of choices to score by.
        threshold: d_th, in the units of the distance; the convention's by default.
        metrics: which metrics; the convention's by default.
        policies: what to do about each kind of problem (see `wayscore.bulk.work.POLICIES`).
        cluster: what is resampled together: "none", "path" or "scan".
        episodes: where to write the scores, a row an episode in the run's order: a .parquet file, or a folder of them.
        resume: keep what an interrupted run finished of `episodes`.
        workers: how many processes.
        engine: "local", or "dask" for a cluster.
        scheduler: the address of the cluster; one of this machine's processes by default.
        rows: how many rows are in a worker's memory at a time.
        seed: of the bootstrap.
        resamples: of the bootstrap.
        name: what to call the run.
        progress: told what is going on, how many rows are done, and of how many.
    """
    tell = progress or (lambda _what, _done, _all: None)
    rules = find_convention(convention)
    d_th = rules.threshold if threshold is None else threshold
    check_threshold(d_th)
    if seed < 0 or resamples < 1 or rows < 1:
        raise OptionError("seed must be 0 or more, resamples and rows 1 or more")
    chosen = tuple(metric.symbol for metric in find_metrics(metrics if metrics is not None else rules.metrics or None))
    engine_of(engine, workers, scheduler)  # a wrong one is told before the work
    if resume and episodes is None:
        raise OptionError("--resume goes on with the file that --episodes names; give that too")
    dealt = _policies(policies or {}, rules)
    course, asked = _course(references, graphs, rules, cluster, once=dealt["duplicate"] != "all")
    if engine == "dask":  # whose workers are at home elsewhere
        run, episodes = absolute(str(run)), None if episodes is None else absolute(str(episodes))
    pieces = plan(str(run), lambda what: tell(what, 0, 0))
    total = pieces[-1].first + pieces[-1].rows
    settings: dict[str, Any] = {
        "convention": rules.signed,
        "threshold": float(d_th),
        "version": _version(),
    }
    task = Task(rules, d_th, chosen, dealt, rows)
    if episodes is not None:
        _check_target(str(episodes), pieces)
        task = replace(task, target=str(episodes), made_from=_digest(settings, task, course))
    done = Done(Tally(chosen))
    finished = _finished(pieces, task, done) if resume else set()
    if task.target and not resume:
        Parts(task.target).remove()
    left = [piece for piece in pieces if piece.number not in finished]
    work = engine_of(engine, min(workers, len(left)), scheduler)(left, course, task) if left else ()
    for _, part in work:
        done.merge(part)
        _check_duplicates(done, task, course)
        tell("scoring", done.scored, total)
    _check_duplicates(done, task, course)
    settings |= course.described(done.scenes) | ({"zeroed": done.zeroed} if done.zeroed else {})
    zeroes = _missing(done, task, course, asked)
    if task.target:
        extra = _worst_part(Parts(task.target), len(pieces), zeroes, course, task)
        Parts(task.target).assemble(len(pieces) + extra, {SETTINGS: json.dumps(settings).encode()})
    return _summary(name or name_of(str(run)), done, task, settings, asked, cluster, seed, resamples)


def _course(
    references: References | str | Path | None, graphs: Any, rules: Convention, cluster: str, once: bool
) -> tuple[Course, References | None]:
    if references is None:
        if cluster != "none":
            raise OptionError("rows that carry their references have no paths to resample by; leave --cluster out")
        if graphs is None or isinstance(graphs, Mapping):
            return lay_out(None, graphs, rules), None
        from wayscore.distances.matterport import load_graphs

        return lay_out(None, load_graphs(graphs), rules), None
    asked = references if isinstance(references, References) else load_references(references)
    found = graphs if isinstance(graphs, Mapping) else distances_for(asked, graphs, rules)
    return lay_out(asked, found, rules, cluster, once), asked


def _policies(given: Mapping[str, str | None], rules: Convention) -> dict[str, str]:
    for kind in given:
        if kind not in POLICIES:
            raise OptionError(
                f"there is no policy for {kind!r}{did_you_mean(kind, POLICIES)} Known: {', '.join(POLICIES)}"
            )
    chosen = {}
    for kind, allowed in POLICIES.items():
        wanted = given.get(kind)
        if wanted is None:
            wanted = getattr(rules, kind, allowed[0])
            wanted = wanted if wanted in allowed else allowed[0]
        if wanted not in allowed:
            raise OptionError(f"in a stream, {kind} episodes may be {', '.join(allowed)}; got {wanted!r}")
        chosen[kind] = wanted
    return chosen


def _digest(settings: Mapping[str, Any], task: Task, course: Course) -> str:
    """Return a few digits that change with anything that parts depend on besides their rows."""
    spaces = [space.fingerprint for space in course.spaces]
    policies = {kind: policy for kind, policy in task.policies.items() if kind not in WHOLE}
    digest = hashlib.sha256(repr([settings, task.rules, task.metrics, policies, course.scenes, spaces]).encode())
    if (asked := course.asked) is not None:
        digest.update(repr([asked.episodes, asked.goals, asked.start_distances]).encode())
        dense = () if asked.dense is None else (asked.dense.places, asked.dense.offsets)
        units = () if asked.units is None else (asked.units,)
        for array in (asked.paths.places, asked.paths.offsets, asked.scenes, *dense, *units):
            digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _finished(pieces: Sequence[Piece], task: Task, done: Done) -> set[int]:
    """Return the pieces whose parts are there, and add them to what is done."""
    parts = Parts(task.target)
    found = set()
    for piece in pieces:
        if parts.is_finished(piece.number, task.stamp(piece)) and (kept := parts.note(piece.number)) is not None:
            try:
                done.merge(Done.from_bytes(kept))
            except (OSError, ValueError, msgspec.MsgspecError):  # torn by a machine that stopped
                continue
            found.add(piece.number)
    return found


def _check_target(target: str, pieces: Sequence[Piece]) -> None:
    """Refuse a place for the scores where they would replace something else."""
    if target.endswith((*TABLES[1:], ".csv", ".json")):
        raise OptionError(f"{target}: scores of a stream are written as a .parquet file, or a folder of such files")
    whole = target.rstrip("/")
    if any(f"{absolute(piece.file)}/".startswith(f"{absolute(whole)}/") for piece in pieces):
        raise OutputError(f"{target}: is the run itself; write the scores to another file")
    inside = names_in(whole) if is_folder(whole) else []
    if is_folder(whole) and (whole.endswith(".parquet") or not all(name.startswith("part-") for name in inside)):
        raise OutputError(f"{target}: is a folder that holds other things; name another place for the scores")


def _check_duplicates(done: Done, task: Task, course: Course) -> None:
    if done.answers is None or task.policies["duplicate"] != "error" or done.answers.max(initial=0) < 2:
        return
    assert course.asked is not None
    episode = course.asked.episodes[int(np.argmax(done.answers > 1))]
    raise FormatError(
        f"episode {episode!r} is answered more than once; see duplicate=all, which scores every answer by itself"
    )


def _missing(done: Done, task: Task, course: Course, asked: References | None) -> list[int]:
    """Deal with references that nothing answers; return those that get the worst scores."""
    if done.answers is None or course.asked is None or asked is None:
        return []
    several = int(np.count_nonzero(done.answers > 1))
    if several:
        done.problems["duplicate"] = several
    lacking = np.flatnonzero(done.answers == 0).tolist()
    if not lacking:
        return []
    done.problems["missing"] = len(lacking)
    if task.policies["missing"] == "error":
        names = ", ".join(course.asked.episodes[number] for number in lacking[:3])
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        kept = "; with --resume the finished scores are kept" if task.target else ""
        raise FormatError(
            f"{len(lacking)} of the {len(done.answers)} episodes of {asked.name} are not answered: {names}{more}; see "
            f"missing=skip or zero{kept}"
        )
    if task.policies["missing"] == "skip":
        return []
    worst = np.repeat(worst_values(task.metrics)[:, None], len(lacking), axis=1)
    numbers = done.scored + np.arange(len(lacking))
    if course.asked.units is not None:
        numbers = course.asked.units[lacking]
    done.tally.add(worst, units_of(numbers))
    return lacking


def _worst_part(parts: Parts, number: int, lacking: list[int], course: Course, task: Task) -> int:
    """Write the references that nothing answers as one more part; return how many parts that makes."""
    if not lacking:
        return 0
    import pyarrow as pa

    assert course.asked is not None
    schema = parts.schema(0)
    values: dict[str, Any] = dict(zip(task.metrics, worst_values(task.metrics), strict=True))
    columns = {name: np.full(len(lacking), values[name]) for name in schema.names if name in values}
    columns["episode"] = pa.array([course.asked.episodes[place] for place in lacking])
    columns["scene"] = pa.array([course.scenes[course.asked.scenes[place]] for place in lacking])
    table = pa.table({name: columns[name] for name in schema.names}).cast(schema.remove_metadata())
    with parts.writing(number, table.schema, task.made_from) as add:
        add(table)
    return 1


def _summary(
    name: str,
    done: Done,
    task: Task,
    settings: dict[str, Any],
    asked: References | None,
    cluster: str,
    seed: int,
    resamples: int,
) -> Summary:
    tally = done.tally
    undefined = tally.undefined()
    problems = {kind: f"{task.policies[kind]}-{done.problems[kind]}" for kind in POLICIES if done.problems.get(kind)}
    signature = make_signature(
        settings,
        references=OWN if asked is None else asked.name,
        episodes=tally.rows,
        problems=problems,
        undefined=max(undefined.values(), default=0),
        cluster=cluster,
    )
    return Summary(
        name,
        signature,
        tally.rows,
        done.problems.get("missing", 0),
        done.problems.get("unknown", 0),
        undefined,
        tally.intervals(np.random.default_rng(seed), resamples=resamples),
        settings,
        bootstrap={
            "resamples": resamples,
            "seed": seed,
            "cluster": cluster,
            "units": int(np.count_nonzero(tally.sizes)),
        },
    )


def name_of(address: str) -> str:
    """Return what tables call a run.

    >>> name_of("runs/agent.parquet"), name_of("runs/agent/"), name_of("runs/agent-*.jsonl")
    ('agent', 'agent', 'agent')
    """
    name = PurePosixPath(address.rstrip("/")).name
    for ending in sorted(TABLES, key=len, reverse=True):
        name = name.removesuffix(ending)
    return name.replace("*", "").strip("-_.") or "run"


def _version() -> str:
    from wayscore import __version__

    return __version__
