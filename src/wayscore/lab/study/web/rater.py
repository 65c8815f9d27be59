"""The pages for raters: consent, instructions, one set after another, a pause, and a code at the end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import Response

from wayscore.lab.study.model import Item
from wayscore.lab.study.store import Groups, Rater
from wayscore.lab.study.web.drawing import Window, draw_example, draw_ground, draw_pair, upright
from wayscore.lab.study.web.forms import LETTERS, ranks_given, ranks_of, read_order, read_seconds
from wayscore.lab.study.web.security import RefusalError, StaleFormError
from wayscore.lab.study.web.site import Site, address_of, see

TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
UNKNOWN = "This link is not valid, or it was replaced by a newer one. Please check that you copied all of it."


@dataclass(frozen=True)
class Visit:
    """A rater at the questionnaire, with the answers given so far, by set."""

    site: Site
    request: Request
    rater: Rater
    home: str  # the address of the link
    answers: dict[str, Groups]

    @property
    def items(self) -> list[Item]:
        """The sets of this rater, in order."""
        return self.site.assignments[self.rater.number].items

    def is_answered(self, number: int) -> bool:
        """Whether the rater answered a set; sets are counted from 1."""
        return self.items[number - 1].set in self.answers

    @property
    def answered(self) -> int:
        """How many sets the rater answered."""
        return sum(item.set in self.answers for item in self.items)

    @property
    def next(self) -> str:
        """The address of what the rater should do next."""
        if not self.rater.consented:
            return f"{self.home}/consent"
        number = next((n for n in range(1, len(self.items) + 1) if not self.is_answered(n)), None)
        return f"{self.home}/finished" if number is None else f"{self.home}/sets/{number}"

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page for this rater."""
        shared = {"home": self.home, "answered_sets": self.answered, "total": len(self.items), "next": self.next}
        return self.site.page(template, status=status, **shared, **values)


def visit(site: Site, request: Request) -> Visit:
    """Return the visit of the rater whose link was opened; refuse invalid links and too many requests."""
    token = request.path_params["token"]
    rater = site.store.rater(token) if TOKEN.fullmatch(token) else None
    if rater is None:
        if not site.strangers.allows(address_of(request)):
            raise RefusalError(429, "Too many invalid links were opened from your address. Please wait a minute.")
        raise RefusalError(404, UNKNOWN)
    if not site.raters.allows(str(rater.number)):
        raise RefusalError(
            429, "You are answering unusually fast. Please wait half a minute, then load the page again."
        )
    return Visit(site, request, rater, f"/r/{token}", site.store.answered(rater))


def enter(here: Visit) -> Response:
    """Go to the page where the rater stopped."""
    if here.rater.consented and not here.answers:
        return see(f"{here.home}/instructions")
    return see(here.next)


def consent(here: Visit, fields: Mapping[str, str] | None) -> Response:
    """Show what the rater agrees to, and save the consent."""
    purpose = ("consent", str(here.rater.number))
    paragraphs = here.site.consent(here.rater.number)
    message = ""
    if fields is not None:
        try:
            here.site.signer.check(fields, *purpose)
            if fields.get("agree") == "yes":
                here.site.store.consent(here.rater, "\n\n".join(paragraphs))
                return see(f"{here.home}/instructions")
            message = "To take part, tick the box. If you do not want to take part, close this page."
        except StaleFormError:
            message = "This page was open for more than a day. Please confirm again."
    return here.page(
        "consent.html",
        status=422 if message else 200,
        paragraphs=paragraphs,
        message=message,
        form=here.site.signer.form(*purpose),
    )


def instructions(here: Visit) -> Response:
    """Explain how to read the pictures and how to answer."""
    if not here.rater.consented:
        return see(here.next)
    return here.page("instructions.html", example=draw_example())


def pause(here: Visit) -> Response:
    """Explain how to continue later."""
    return here.page("pause.html")


def finished(here: Visit) -> Response:
    """Show the completion code to a rater who has answered everything."""
    if here.next != f"{here.home}/finished":
        return see(here.next)
    return here.page("finished.html", code=here.site.signer.code(here.rater.number))


def show_set(here: Visit, fields: Mapping[str, str] | None) -> Response:
    """Show a set to put in order, or save the order that was sent; a set that was answered shows its answer."""
    number = here.request.path_params["number"]
    if not 1 <= number <= len(here.items):
        raise RefusalError(404, "You have no set with this number.")
    address = f"{here.home}/sets/{number}"
    if not here.rater.consented or not (here.is_answered(number) or here.next == address):
        return see(here.next)  # only sets that were answered and the first that was not can be opened
    item = here.items[number - 1]
    if fields is not None:
        return _answer_set(here, number, item, fields)
    ranks = ranks_of(here.answers[item.set], item.order) if item.set in here.answers else dict.fromkeys(LETTERS, "")
    saved = here.request.query_params.get("saved", "")
    before = int(saved) if saved.isdecimal() and len(saved) < 6 else 0
    notice = f"Set {before} is saved." if 1 <= before <= len(here.items) and here.is_answered(before) else ""
    return _set_page(here, number, item, ranks, notice=notice)


def _answer_set(here: Visit, number: int, item: Item, fields: Mapping[str, str]) -> Response:
    """Save an answer and continue; an invalid one is shown again with a message."""
    ranks = ranks_given(fields)
    shown_again = partial(_set_page, here, number, item)
    try:
        age = here.site.signer.check(fields, *_purpose(here, item))
    except StaleFormError:
        return shown_again(
            ranks, message="This page was open for more than a day. Please check your order and save it again."
        )
    groups, message = read_order(ranks, item.order, ties=here.site.study.ties)
    if message:
        return shown_again(ranks, message=message)
    seconds = read_seconds(fields.get("seconds", ""), age)
    try:
        outcome = here.site.store.answer(here.rater, item.set, groups, form=fields["form"], seconds=seconds)
    except SQLAlchemyError as error:  # the order stays on the page
        return shown_again(ranks, message=here.site.not_saved(error), status=503)
    if outcome == "gone":
        raise RefusalError(404, UNKNOWN)
    if outcome == "full":
        raise RefusalError(409, "You changed this answer too many times. The last order that you saved counts.")
    if outcome == "used":
        message = "An order was already saved from this page; it is shown below. To change it, save again."
        saved = here.site.store.answered(here.rater)[item.set]
        return shown_again(ranks_of(saved, item.order), message=message, status=409)
    if here.is_answered(number) and number < len(here.items) and here.is_answered(number + 1):
        return see(f"{here.home}/sets/{number + 1}?saved={number}")  # a rater who looks back sees the next one too
    after = replace(here, answers={**here.answers, item.set: groups})
    return see(after.next if after.next.endswith("/finished") else f"{after.next}?saved={number}")


def _purpose(here: Visit, item: Item) -> tuple[str, ...]:
    return "answer", str(here.rater.number), item.set


def _set_page(
    here: Visit,
    number: int,
    item: Item,
    ranks: Mapping[str, str],
    *,
    notice: str = "",
    message: str = "",
    status: int = 0,
) -> Response:
    ground, drawn = _drawn(here.site, item.set)
    cards = [
        {"letter": letter, "rank": ranks[letter], "picture": drawn[query]}
        for letter, query in zip(LETTERS, item.order, strict=True)
    ]
    if all(ranks.values()):
        cards.sort(key=lambda card: str(card["rank"]))
    return here.page(
        "set.html",
        status=status or (422 if message else 200),
        number=number,
        answered=here.is_answered(number),
        ground=ground,
        cards=cards,
        notice=notice,
        message=message,
        form=here.site.signer.form(*_purpose(here, item)),
    )


def _drawn(site: Site, name: str) -> tuple[Markup, list[Markup]]:
    """Return the graph under a set's pictures, and the picture of each of its queries; drawn once."""
    if name in site.drawn:
        return site.drawn[name]
    one = site.study.set(name)
    scene = upright(site.study.scenes[one.scene], (one.reference, *one.queries))
    window = Window.around(scene.positions[node] for path in (one.reference, *one.queries) for node in path)
    pictures = [draw_pair(scene, window, reference=one.reference, query=query) for query in one.queries]
    return site.drawn.setdefault(name, (draw_ground(scene, window), pictures))
