"""What the browser of episodes shows: paths, scores and warpings, as few numbers as can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.convention.applied import flatten
from wayscore.convention.path_step import apply_path_step
from wayscore.metrics import find_metrics
from wayscore.paths import without_repeats
from wayscore.report.layout import is_share
from wayscore.report.page.choices import choices_of
from wayscore.report.page.scenes import Scene, is_y_up
from wayscore.report.page.warpings import Warpings

if TYPE_CHECKING:
    from wayscore.convention import Convention
    from wayscore.distances.base import Distance, Floats
    from wayscore.episodes import Reference, References
    from wayscore.evaluation.runs import ScoredRun

SHARE_STEPS, STEPS = 100_000, 1_000
"""Scores are whole numbers of these parts: of one for shares, of a metre (or whatever the unit is) for others."""


def episodes_of(
    runs: Sequence[ScoredRun], references: References, distance: Distance | Mapping[str, Distance] | None
) -> dict[str, Any]:
    """Return the episodes of several runs as plain values; `static/data.js` reads them.

    All runs are drawn by the choices of the first: what is warped to, and whether repeated places are dropped.
    """
    rules = choices_of(runs[0])
    threshold = float(runs[0].table.settings["threshold"])
    scored = {str(name) for run in runs for name in run.table.episodes}
    asked = {name: reference for name, reference in references.episodes.items() if name in scored}
    answers = [_answers(run, rules) for run in runs]
    book = _Book(asked, answers, rules, distance, form=references.format)
    walked = {name: book.path(reference, book.walks[name]) for name, reference in asked.items()}
    goals = {name: book.goals(reference) for name, reference in asked.items()}
    columns = [book.columns(run, found, walked) for run, found in zip(runs, answers, strict=True)]
    numbers = {name: number for number, name in enumerate(book.scenes)}
    scenes = []
    for name, scene in book.scenes.items():
        ends = {goals[episode][0] for episode, reference in asked.items() if reference.scene == name}
        scenes.append({**scene.drawn(), "near": scene.near(ends, threshold, rules)})
    return {
        "id": list(asked),
        "scene": [numbers[reference.scene] for reference in asked.values()],
        "instruction": [reference.instruction for reference in asked.values()],
        "length": [len(reference.path) for reference in asked.values()],
        "reference": list(walked.values()),
        "goals": list(goals.values()),
        "runs": columns,
        "scenes": scenes,
        "paths": list(book.paths),
        "warpings": book.warpings.packed,
        "steps": {symbol: _steps(symbol) for symbol in runs[0].table.columns},
    }


class _Book:
    """Scenes, paths and warpings, each kept once and called by its number."""

    def __init__(
        self,
        asked: Mapping[str, Reference],
        answers: Sequence[Mapping[str, Any]],
        rules: Convention,
        distance: Distance | Mapping[str, Distance] | None,
        *,
        form: str,
    ) -> None:
        self.asked = asked
        self.rules = rules
        self.paths: dict[tuple[int, ...], int] = {}
        self.warpings = Warpings(distance, rules)
        walks = [r.path if rules.reference == "path" or r.dense is None else r.dense for r in asked.values()]
        self.walks = dict(zip(asked, _as_warped(walks, rules), strict=True))
        self.ends = {name: _ends(reference, rules) for name, reference in asked.items()}
        visited: dict[str, list[Any]] = {reference.scene: [] for reference in asked.values()}
        for name, reference in asked.items():
            visited[reference.scene] += [self.ends[name], self.walks[name]]
            visited[reference.scene] += [found[name] for found in answers if name in found]
        points = {name: _points(paths) for name, paths in visited.items()}
        some = [found - found.mean(axis=0) for found in points.values() if found is not None]
        up = form == "vlnce" or (bool(some) and is_y_up(np.concatenate(some)))
        known = {"y_up": up, "degrees": form == "street"}
        self.scenes = {
            name: Scene(name, distance, rules, chain.from_iterable(visited[name]), points[name], **known)
            for name in sorted(visited)
        }

    def path(self, reference: Reference, path: Any) -> int:
        """Return the number of a path in the scene of an episode."""
        return self.paths.setdefault(self.scenes[reference.scene].encode(path), len(self.paths))

    def goals(self, reference: Reference) -> tuple[int, ...]:
        """Return where an episode should end: nodes, or one point."""
        return self.scenes[reference.scene].encode(self.ends[reference.episode])

    def columns(self, run: ScoredRun, answers: Mapping[str, Any], walked: Mapping[str, int]) -> dict[str, Any]:
        """Return what the page needs of one run: by episode its query, its warping and its scores."""
        rows = [str(name) for name in run.table.episodes]
        queries = {name: self.path(self.asked[name], query) for name, query in answers.items()}
        places = {name: row for row, name in enumerate(walked)}
        warped = {
            name: self.warpings.number(
                (self.asked[name].scene, walked[name], queries[name]), self.walks[name], answers[name]
            )
            for name in answers
        }
        return {
            "rows": None if rows == list(walked) else [places[name] for name in rows],
            "query": [queries.get(name, -1) for name in rows],
            "warping": [warped.get(name, -1) for name in rows],
            "scores": {symbol: _scores(symbol, values) for symbol, values in run.table.columns.items()},
        }


def _answers(run: ScoredRun, rules: Convention) -> dict[str, Any]:
    """Return the queries of a run by episode, as they were scored."""
    queries: Any = [query.path for _, query in run.joined.pairs]
    if rules.repeats == "drop":
        queries = without_repeats(queries)
    return dict(zip((r.episode for r, _ in run.joined.pairs), _as_warped(queries, rules), strict=True))


def _as_warped(paths: Sequence[Any], rules: Convention) -> Sequence[Any]:
    """Return paths as the convention warps them: in the plane or sampled anew, where it says so."""
    found: Any = paths
    if rules.plane == "all":
        found = flatten(found)
    if rules.path_step:
        found = apply_path_step(found, rules.path_step, rules.path_step_by)
    return found if found is paths else list(found)


def _ends(reference: Reference, rules: Convention) -> Any:
    """Return the places where an episode should end."""
    if rules.goal == "set" and reference.goals:
        return list(reference.goals)
    last = reference.path[-1:]
    return last[:, :2] if rules.plane == "all" else last


def _points(paths: Sequence[Any]) -> Floats | None:
    """Return all the points of some paths, None where they are labels."""
    found = [path for path in paths if isinstance(path, np.ndarray) and path.ndim == 2]
    return np.concatenate(found) if found else None


def _scores(symbol: str, values: Floats) -> list[int | None]:
    """Return scores as whole numbers of parts, None for infinite ones."""
    finite = np.isfinite(values)
    parts = np.rint(np.where(finite, values, 0.0) * _steps(symbol)).astype(np.int64).tolist()
    return [part if known else None for part, known in zip(parts, finite.tolist(), strict=True)]


def _steps(symbol: str) -> int:
    return SHARE_STEPS if is_share(find_metrics([symbol])[0]) else STEPS
