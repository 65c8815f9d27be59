"""evaluate: files in, a Result out. One batch or many, in this process, on processes or a cluster: the same digits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

import wayscore
from wayscore.convention.choices import Convention
from wayscore.convention.presets import CONVENTIONS, signed
from wayscore.errors import FormatError, OptionError, check_choice, check_count
from wayscore.evaluation.engines import ENGINES, MOST_WORKERS, Engine
from wayscore.evaluation.groups import few_clusters
from wayscore.evaluation.inputs import GivenRun, Inputs, Prepared, Settings, find_references, find_run
from wayscore.evaluation.policies import check_coverage
from wayscore.evaluation.recorded import missing_warnings
from wayscore.evaluation.result import Result
from wayscore.evaluation.saved import check_target, is_saved_result, load_result
from wayscore.evaluation.scorer import Scorer
from wayscore.evaluation.table import ScoreTable
from wayscore.evaluation.warnings import other_split, usual_convention
from wayscore.evaluation.work import COUNTED, Scored, ScoredRows, Task, scan_chunk, score_chunk
from wayscore.formats import storage
from wayscore.formats.episodes import References
from wayscore.formats.scores import is_score_file
from wayscore.metrics import Metric, find_metrics
from wayscore.metrics.registry import with_columns
from wayscore.paths import axis_name
from wayscore.statistics.bootstrap import Integers, join_clusters

MANY_ROWS = 1_000_000
"""Above this number of rows, every core takes part unless <<workers>> says otherwise."""
ROWS_AT_ONCE = 65_536
Progress = Callable[[str, int, int], None]
"""Called with what is going on, how many rows are done, and of how many."""


def evaluate(
    run: Any,
    references: References | Prepared | str | os.PathLike[str] | None = None,
    graphs: Any = None,
    *,
    convention: str | Path | Convention | None = None,
    threshold: float | None = None,
    metrics: Iterable[str | Metric] | str | None = None,
    name: str | None = None,
    missing: str | None = None,
    unknown: str | None = None,
    duplicate: str | None = None,
    start: str | None = None,
    move: str | None = None,
    node: str | None = None,
    repeats: str | None = None,
    path_step: float | None = None,
    navmesh: Any = None,
    walkable: bool = False,
    cluster: str = "auto",
    resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = 1,
    engine: str = "local",
    scheduler: str | None = None,
    chunk: int = ROWS_AT_ONCE,
    episodes: str | os.PathLike[str] | None = None,
    run_format: str | None = None,
    reader: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Score a run against its references.

    Args:
        run: a result file, a folder of files, a pattern or an address, or several of these (one run); a `Run`;
            `{episode: path}`; an Arrow table or a data frame. Files of any size are read in batches. A saved result
            or a score file of another evaluator is loaded as it is.
        references: the ground-truth paths: a file, or what `ws.load_references` returned; None where the rows of the
            run carry a `scene` and a `reference` of their own.
        graphs: connectivity files (a folder or a tar), scene -> distance, or one distance; not needed for coordinates.
        convention: the set of choices to score by; a name, a TOML file or a value; "paper" by default, with a warning
            where users of the references' format report another.
        threshold: success threshold d_th, in the units of the distance; the convention's by default.
        metrics: which metrics, as symbols or values; the convention's by default.
        name: what tables call the run; its file's name by default.
        missing: references without an answer: "error", "skip" or "zero".
        unknown: answers to no reference: "error" or "skip".
        duplicate: episodes answered more than once: "error", "keep" the first, or score "all".
        start: queries that do not begin where their reference does: "error", "keep", "skip" or "zero".
        move: queries with a step that is not an edge: "keep", "error", "skip" or "zero".
        node: queries that visit an unknown node: "error", "skip" or "zero".
        repeats: "drop" nodes that repeat the one before, or "keep" them; the convention's by default.
        path_step: DTW, nDTW and SDTW compare coordinates resampled at this step, metres.
        navmesh: a folder of Habitat's .navmesh files, or scene -> `NavMesh`: distances to the goal where the run does
            not record the simulator's; straight lines by default, with a warning where the convention expects others.
        walkable: measure them along the walks of all references of a scene, where there is no mesh.
        cluster: what the bootstrap draws together: "path", "scan", "none", or "auto": paths where episodes share them.
        resamples: how often the bootstrap draws.
        seed: random seed of the bootstrap.
        workers: how many share the work: threads for Parquet; processes for other files, and for metrics and distances
            that are functions written in Python. None: one, and of more than a million answers one for each core.
        engine: "local", or "dask" for a cluster.
        scheduler: the address of the cluster's scheduler; one on this machine by default.
        chunk: rows of Parquet in a worker's memory at a time.
        episodes: a file for the scores of single episodes: .parquet, .csv or .jsonl.
        run_format: how the run is written, where its beginning does not tell.
        reader: settings of the references' reader.
        progress: called with what is going on, how many rows are done, and of how many.

    >>> import wayscore as ws
    >>> house = {"s": ws.Graph.from_edges([("hall", "stairs"), ("stairs", "attic")], [2.0, 3.5])}
    >>> references = ws.References("mine", "table", {"1": ws.Reference("1", "s", ["hall", "stairs", "attic"], "1")})
    >>> evaluate({"1": ["hall", "stairs"]}, references, house, metrics="NE,nDTW")
    <Result run: 1 episodes: NE 3.5  nDTW 0.6778>
    """
    tell = progress or (lambda _what, _done, _all: None)
    settings = Settings.make(
        convention=convention,
        threshold=threshold,
        metrics=metrics,
        policies={
            "missing": missing,
            "unknown": unknown,
            "duplicate": duplicate,
            "start": start,
            "move": move,
            "node": node,
        },
        repeats=repeats,
        path_step=path_step,
        cluster=cluster,
        resamples=resamples,
        seed=seed,
    )
    check_choice("engine", engine, ENGINES)
    on = Engine(engine, 1 if workers is None else workers, scheduler)
    check_count("workers", on.workers, most=MOST_WORKERS)
    if scheduler is not None and engine != "dask":
        raise OptionError("<<scheduler>> is the address of a Dask scheduler; it needs <<engine=dask>>")
    check_count("chunk", chunk, most=10**9)
    if isinstance(run, Result) or is_saved_result(run) or (references is None and is_score_file(run)):
        from wayscore.evaluation.repeated_runs import recluster

        return recluster(run if isinstance(run, Result) else _loaded(run, name, metrics), cluster)
    try:
        given = find_run(run, run_format, lambda what: tell(what, 0, 0))
    except FormatError:
        if not is_score_file(run):
            raise
        found = _loaded(run, name, metrics)
        unused = "this file holds scores and no paths, so these are its own: references and convention were not used"
        return replace(found, warnings=(*found.warnings, unused))
    if not isinstance(references, Prepared):
        references = Prepared(find_references(references, reader), graphs)
    known = references.references
    several = settings.policies["duplicate"] == "all"
    scorer = references.scorer(settings.convention, cluster, several, navmesh, walkable)
    settings = structs.replace(settings, cluster=scorer.cluster)
    if workers is None and given.rows > MANY_ROWS:
        on = Engine(engine, os.cpu_count() or 1, scheduler)
    inputs = Inputs(given, known, scorer.distances, settings.convention)
    if episodes is not None:
        check_target(os.fspath(episodes), [] if isinstance(given, GivenRun) else [one.file for one in given.chunks])
    done: Scored | None = None
    task = Task(settings, chunk)
    scored: Iterable[Scored]
    if isinstance(given, GivenRun):
        scored = [score_chunk(given.batch, scorer, task)]
    else:
        chunks = given.chunks
        if on.name == "dask":  # whose workers are at home elsewhere
            chunks = [structs.replace(one, file=storage.absolute(one.file)) for one in chunks]
        whole = len(chunks) == 1 and chunks[0].kind == "whole"
        if settings.policies["duplicate"] == "keep" and known is not None and not whole:
            first = np.minimum.reduce(list(on.map(scan_chunk, chunks, scorer, task)))
            task = structs.replace(task, first=first)
        scored = on.map(score_chunk, chunks, scorer, task)
    for part in scored:
        if done is None:
            done = part
            done.expected = given.rows
        else:
            done.merge(part)
            done.gather()
        tell("scoring", done.rows, max(given.rows, done.rows))
    result = _result(name or given.name, inputs, scorer, settings, done or Scored(), convention is not None)
    if episodes is not None:
        result.write_episodes(os.fspath(episodes))
    return result


def _loaded(run: Any, name: str | None, metrics: Any) -> Result:
    result = load_result(run, name)
    return result if metrics is None else result.select([metric.symbol for metric in find_metrics(metrics)])


def _result(name: str, inputs: Inputs, scorer: Scorer, settings: Settings, done: Scored, chosen: bool) -> Result:
    known = scorer.references
    counts = {kind: {name: n for (of, name), n in done.counts.items() if of == kind} for kind in COUNTED}
    if known is not None:
        answers = np.zeros(len(known.episodes), dtype=np.int64) + done.answers
        zeroes = check_coverage(done.problems, settings.policies, name, known, answers, done.rows)
        if len(zeroes):
            worst = np.repeat([[metric.worst] for metric in settings.metrics], len(zeroes), axis=1)
            done.parts.append(ScoredRows(done.rows + np.arange(len(zeroes)), zeroes))
            done.pieces.append((worst, np.arange(len(zeroes))))
    elif done.problems:
        done.problems.refuse(settings.policies, name, "the rows", done.rows, done.rows)
    table, clusters = _table(done, scorer, settings)
    if not len(clusters):
        raise OptionError(f"{name}: no episode is left to score; all were left out as the policies say")
    count = int(np.count_nonzero(np.bincount(clusters)))
    spaces = [scorer.spaces[scene] for scene in sorted(done.scenes)]
    units = {space.unit for space in spaces}
    # Repeats stand beside the convention's name, so a known convention with others keeps its name.
    convention = settings.convention
    preset = CONVENTIONS.get(convention.name)
    plain = convention if preset is None else replace(convention, repeats=preset.repeats)
    described = {
        "convention": signed(with_columns(plain, settings.metrics)),
        "threshold": settings.threshold,
        "repeats": convention.repeats,
        "version": wayscore.__version__,
        "distance": sorted({space.fingerprint for space in spaces}),
        **({"unit": units.pop()} if len(units) == 1 and units != {"m"} else {}),
        "policies": dict(settings.policies),
        "references": None
        if known is None
        else {"name": known.name, "fingerprint": known.fingerprint, "episodes": len(known.episodes)},
        "format": inputs.run.format,
        **{kind: found for kind, found in counts.items() if found},
        **({"up": axis_name(None if known is None else known.up_axis)} if convention.plane == "all" else {}),
        **({"largest snap": done.snap} if done.snap else {}),
        "seen": done.seen.facts(),
    }
    bootstrap = {"resamples": settings.resamples, "seed": settings.seed, "cluster": settings.cluster, "clusters": count}
    warnings = few_clusters(settings.cluster, count)
    if counts["unrecorded"]:
        warnings += missing_warnings(counts["unrecorded"], len(clusters), settings.metrics)
    warnings += done.seen.warnings(convention, [metric.symbol for metric in settings.metrics])
    if scorer.geodesics is not None:
        from wayscore.evaluation.goals import geodesic_warnings

        warnings += geodesic_warnings(scorer.geodesics, inputs.references, counts["goal"])
    warnings += [
        f"{n:,} episodes were recorded with the threshold {other}, and are scored with {settings.threshold:g}; use "
        f"<<threshold={other}>>"
        for other, n in counts["thresholds"].items()
    ]
    if inputs.references is not None:
        if not chosen:
            warnings += usual_convention(inputs.references.format, convention)
        warnings += other_split(inputs.run.name, inputs.references.name)
    return Result(
        name,
        settings.metrics,
        described,
        len(clusters),
        done.problems,
        bootstrap,
        tuple(warnings),
        table,
        clusters,
        inputs=inputs,
    )


def _table(done: Scored, scorer: Scorer, settings: Settings) -> tuple[ScoreTable, Integers]:
    """Put scores in the order of the references; return them with the cluster of every row.

    The order does not depend on how the run was read, so that sums over it do not either.
    """
    known, parts = scorer.references, done.parts
    rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, dtype=np.int64)
    pairs = None
    if known is not None and all(part.pairs is not None for part in parts):
        pairs = np.concatenate([part.pairs for part in parts if part.pairs is not None]) if parts else rows
    every = settings.policies["duplicate"] == "all"
    once = not every or np.max(done.answers, initial=0) <= 1
    if known is not None and pairs is not None and once:
        order = np.lexsort((rows, known.order[pairs]))
    else:  # several answers to an episode stay beside the run's rows
        order = np.argsort(rows, kind="stable")
    facts: dict[str, Any]
    if known is None or pairs is None:
        names = [name for part in parts for name in part.episodes or ()]
        facts = {"episode": [names[place] for place in order.tolist()]}
        if all(part.scenes is not None for part in parts):
            scenes = [name for part in parts for name in part.scenes or ()]
            facts["scene"] = [scenes[place] for place in order.tolist()]
    columns = done.gather()
    if (order[1:] < order[:-1]).any():
        for column in columns:
            column[:] = column[order]
        rows, pairs = rows[order], None if pairs is None else pairs[order]
    if known is not None and pairs is not None:
        facts = {"episode": known.episodes[pairs]}
        if scorer.scenes != [""]:
            facts["scene"] = known.scene_names[pairs]
        facts |= {"path_id": known.path_ids[pairs], "reference_nodes": known.paths.lengths[pairs]}
    named = zip(settings.metrics, columns, strict=True)
    table = ScoreTable({metric.symbol: values for metric, values in named}, facts=facts)
    if known is None or pairs is None or (every and settings.cluster == "none"):
        return table, join_clusters(rows)
    return table, known.clusters[pairs]
