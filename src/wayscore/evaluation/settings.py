"""The settings of an evaluation: one value that is checked, signed, and sent to workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import Struct

from wayscore.convention.choices import CHOICES, Convention
from wayscore.convention.presets import CONVENTIONS, find_convention, signed
from wayscore.errors import check_choice, check_count
from wayscore.evaluation.groups import CLUSTERS
from wayscore.evaluation.policies import choose_policies
from wayscore.metrics import Metric, find_metrics
from wayscore.metrics.registry import with_columns
from wayscore.statistics.bootstrap import MOST_RESAMPLES
from wayscore.warping.alignment import check_threshold


class Settings(Struct, frozen=True):
    """How the answers of a run are scored.

    Attributes:
        convention: the choices that change a number.
        threshold: d_th, in the units of the distance.
        metrics: what is measured, as values.
        policies: what is done about each kind of problem.
        cluster: what the bootstrap draws: "auto", "none", "path" or "scan".
        resamples: how often it draws.
        seed: of its random generator.
    """

    convention: Convention
    threshold: float
    metrics: tuple[Metric, ...]
    policies: Mapping[str, str]
    cluster: str
    resamples: int
    seed: int

    @classmethod
    def make(
        cls,
        *,
        convention: str | Path | Convention | None = None,
        threshold: float | None = None,
        metrics: Iterable[str | Metric] | str | None = None,
        policies: Mapping[str, str | None] | None = None,
        repeats: str | None = None,
        path_step: float | None = None,
        cluster: str = "auto",
        resamples: int = 10_000,
        seed: int = 0,
    ) -> Settings:
        """Check what a caller gives; what is not given is the convention's."""
        chosen = find_convention(convention)
        if repeats is not None:
            check_choice("repeats", repeats, CHOICES["repeats"])
            chosen = replace(chosen, repeats=repeats)  # type: ignore[arg-type]
        if path_step is not None:
            chosen = replace(chosen, path_step=path_step * 1.0)  # 1 and 1.0 sign alike
        d_th = chosen.threshold if threshold is None else threshold
        check_threshold(d_th)
        check_choice("cluster", cluster, CLUSTERS)
        check_count("seed", seed, least=0)
        check_count("resamples", resamples, most=MOST_RESAMPLES)
        return cls(
            chosen,
            float(d_th),
            find_metrics(metrics, chosen),
            choose_policies(policies or {}, chosen),
            cluster,
            resamples,
            seed,
        )

    @property
    def symbols(self) -> tuple[str, ...]:
        """What the columns are called."""
        return tuple(metric.symbol for metric in self.metrics)

    def signed(self) -> str:
        """Return what signatures call the convention; they name repeats beside it."""
        known = CONVENTIONS.get(self.convention.name)
        plain = self.convention if known is None else replace(self.convention, repeats=known.repeats)
        return signed(with_columns(plain, self.metrics))
