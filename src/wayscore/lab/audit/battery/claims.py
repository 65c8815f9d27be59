"""What the paper claims about metrics, as data: a sentence, and the verdicts with which it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wayscore.lab.audit.battery.verdicts import Word

if TYPE_CHECKING:
    from wayscore.lab.audit.battery.responses import Response

SAME: tuple[Word, ...] = ("invariant", "indifferent")
FALLS: tuple[Word, ...] = ("falls", "jumps down")
RISES: tuple[Word, ...] = ("rises", "jumps up")
Outcome = Literal["holds", "fails", "unclear"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper about one metric, and the experiment that tests it.

    Attributes:
        section: where the paper says it.
        text: the claim.
        metric: the symbol of the metric that it is about.
        experiment: the name of the experiment.
        verdicts: those with which it holds.
    """

    section: str
    text: str
    metric: str
    experiment: str
    verdicts: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and what was found.

    Attributes:
        claim: what the paper says.
        response: how the metric responded.
        outcome: whether the claim "holds" or "fails"; "unclear" where the verdict is.
    """

    claim: Claim
    response: Response
    outcome: Outcome

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "section": self.claim.section,
            "claim": self.claim.text,
            "metric": self.claim.metric,
            "experiment": self.claim.experiment,
            "holds_with": list(self.claim.verdicts),
            "verdict": self.response.verdict.word,
            "change": self.response.largest,
            "outcome": self.outcome,
        }


_ENTIRE = "sees only the last node of the reference, and tolerates deviations on the way"
_ORDER = "does not take the order of nodes into account"
CLAIMS: tuple[Claim, ...] = (
    Claim("2", "softly penalizes deviations", "nDTW", "near-miss", ("falls",)),
    Claim("2", "measures the entirety of two trajectories", "nDTW", "detour", FALLS),
    Claim("2", "forces the goal: the final nodes are aligned", "nDTW", "stop-early", FALLS),
    Claim("2", "forces the goal: the final nodes are aligned", "nDTW", "stop-late", FALLS),
    Claim("2", "captures the importance of the goal", "nDTW", "misplaced-point", FALLS),
    Claim("2", "is insensitive to scale", "nDTW", "scale", SAME),
    Claim("2", "is insensitive to the density of nodes", "nDTW", "query-density", SAME),
    Claim("2", "is insensitive to the density of nodes", "nDTW", "reference-density", SAME),
    Claim("2", "is insensitive to the density of nodes", "nDTW", "both-densities", SAME),
    Claim("2", "is sensitive to the order of nodes", "nDTW", "reversed", FALLS),
    Claim("2", "is sensitive to the order of nodes", "nDTW", "shuffled", FALLS),
    Claim("2", "is sensitive to the order of nodes", "nDTW", "reversed-loop", FALLS),
    Claim("4", "captures success", "SDTW", "stop-late", FALLS),
    Claim("4", "captures similarity to the intended path", "SDTW", "detour", FALLS),
    Claim("A", "measures the length of the query", "PL", "detour", RISES),
    *(Claim("A", _ENTIRE, metric, "detour", SAME) for metric in ("NE", "ONE", "SR", "OSR")),
    *(Claim("A", _ENTIRE, metric, "reversed-loop", SAME) for metric in ("PL", "NE", "ONE", "SR", "OSR", "SPL")),
    Claim("1", "rewards agents that reach their goals efficiently", "SPL", "detour", FALLS),
    Claim("A", "severely penalizes a walk that is extremely close", "SED", "near-miss", ("jumps down",)),
    Claim("A", "is the same if a loop is walked the other way around", "CLS", "reversed-loop", SAME),
    Claim("A", "is invariant to order", "PC", "shuffled", SAME),
    Claim("A", "ignores order, since its factor PC does", "CLS", "shuffled", SAME),
    *(Claim("A", _ORDER, metric, change, SAME) for metric in ("AD", "MD") for change in ("reversed", "shuffled")),
)
"""Every claim about a metric's behaviour; 1, 2 and 4 are the paper's sections, A is its appendix."""


def findings(claims: Sequence[Claim], responses: Sequence[Response]) -> tuple[Finding, ...]:
    """Return the claims that were tested, with what was found."""
    known = {(one.metric, one.experiment): one for one in responses}
    found = []
    for claim in claims:
        response = known.get((claim.metric, claim.experiment))
        if response is not None:
            found.append(Finding(claim, response, _outcome(claim, response.verdict.word)))
    return tuple(found)


def alike(found: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings about several metrics in the same words together, for tables."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in found:
        key = (one.claim.text, one.claim.experiment, one.response.verdict.word, one.outcome)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _outcome(claim: Claim, word: Word) -> Outcome:
    if word in ("unclear", "undefined"):
        return "unclear"
    return "holds" if word in claim.verdicts else "fails"
