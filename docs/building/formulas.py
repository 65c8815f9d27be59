"""Formulas as MathML, from the plain notation that metrics carry: `exp(-DTW / (|R| d_th))`.

Browsers draw MathML themselves, so that the site needs neither a script nor fonts from elsewhere. What may be
written: names, numbers, calls `d(q, R)`, products by a space or `*`, fractions `a / b`, subscripts `q_i+1`, `r_|R|`
and `sum_(i,j)`, powers `x^2`, sizes `|R|`, and `1[...]`, which is 1 where a condition holds and else 0. Words in
small letters (also `a`, and `m` for metres) stay words, and what follows a comma says more about the formula:
`|Q| - 1, repeats counted`.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

SUBSCRIPT = r"_(?:\|\w+\||\([^)]*\)|[A-Za-z0-9]+(?:\.\.\w+)?(?:\+1)?)"
TOKEN = re.compile(
    rf"\s*(?:({SUBSCRIPT})|(1\[)|(\d+(?:\.\d+)?(?:e-?\d+)?)|([A-Za-z]+(?:'s)?)|(<=|>=|[-+*/^()|\[\],=<>]))"
)
IN_TEXT = re.compile(r"^```.*?^```$|`[^`\n]+`|\$\$([^$\n]+)\$\$|\$([^$\n]+)\$", re.MULTILINE | re.DOTALL)
"""A formula of a page, a block or within a line; or code, where a dollar is a dollar."""
KINDS = ("subscript", "indicator", "number", "name", "sign")
BIG = {"sum": "∑", "min": "min", "max": "max", "mean": "mean"}
"""What is taken over all that follows in a product, and has its subscript below."""
SIGNS = {"-": "−", "<=": "≤", ">=": "≥", "*": "·", "..": "…"}
SPACE, WORD_SPACE = (f'<mspace width="{width}em"></mspace>' for width in (0.17, 0.3))
FUNCTIONS = ("exp", "sqrt", "min", "max", "sum", "mean")
"""Names in small letters that are no words."""


class Token(NamedTuple):
    """A piece of a formula; `near` where no space stands before it."""

    kind: str
    text: str
    near: bool


class Part(NamedTuple):
    """A factor as MathML; `inside` is the same without its parentheses, where it has any."""

    html: str
    inside: str = ""
    big: bool = False
    word: bool = False


def mathml(formula: str, *, block: bool = False) -> str:
    """Return a formula as a MathML element, within a line or as a block of its own.

    >>> mathml("SR / 2")
    '<math><mfrac><mrow><mi>SR</mi></mrow><mrow><mn>2</mn></mrow></mfrac></math>'
    """
    parser = _Parser(formula)
    content = parser.listed()
    if parser.next is not None:
        raise parser.error()
    return f'<math display="block">{content}</math>' if block else f"<math>{content}</math>"


class _Parser:
    """Recursive descent: relation, sum, product, factor."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens: list[Token] = []
        self.in_bars = False
        at, text = 0, formula.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise self.error()
            kind, piece = next((k, g) for k, g in zip(KINDS, match.groups(), strict=True) if g is not None)
            self.tokens.append(Token(kind, piece, not match.group().startswith(" ")))
            at = match.end()
        self.tokens.reverse()

    @property
    def next(self) -> Token | None:
        return self.tokens[-1] if self.tokens else None

    def error(self) -> ValueError:
        rest = f" from {self.next.text!r} on" if self.tokens and self.next else ""
        return ValueError(f"cannot read the formula {self.formula!r}{rest}")

    def sees(self, *signs: str) -> bool:
        return self.next is not None and self.next.kind == "sign" and self.next.text in signs

    def take(self, sign: str = "") -> str:
        if not self.tokens or (sign and not self.sees(sign)):
            raise self.error()
        return self.tokens.pop().text

    def relation(self) -> str:
        found = self.sum()
        while self.sees("<=", ">=", "=", "<", ">"):
            found += _sign(self.take()) + self.sum()
        return found

    def sum(self) -> str:
        found = _sign(self.take(), "prefix") if self.sees("-") else ""
        found += self.product()
        while self.sees("+", "-"):
            found += _sign(self.take()) + self.product()
        return found

    def product(self) -> str:
        """Read factors; a fraction takes those before it, back to the last `*` or big operator."""
        found, parts = "", [self.factor()]
        while True:
            if self.sees("*"):
                found += _joined(parts) + _sign(self.take())
                parts = [self.factor()]
            elif self.sees("/"):
                self.take()
                found += "".join(part.html for part in parts if part.big)
                above = [part for part in parts if not part.big]
                top = (above[0].inside if len(above) == 1 else "") or _joined(above)
                bottom = self.factor()
                parts = [Part(f"<mfrac><mrow>{top}</mrow><mrow>{bottom.inside or bottom.html}</mrow></mfrac>")]
            elif self.next is not None and (
                self.next.kind != "sign" or self.sees("(") or (self.sees("|") and not self.in_bars)
            ):
                parts.append(self.factor())
            else:
                return found + _joined(parts)

    def factor(self) -> Part:
        if self.next is None:
            raise self.error()
        kind = self.next.kind
        if kind == "name":
            return self.named()
        if kind == "number":
            return self.raised(Part(f"<mn>{self.take()}</mn>"))
        if kind == "indicator":
            self.take()
            inside = self.within("]")
            return Part(f"<mn>𝟙</mn>{_fenced('[', inside, ']')}")
        if self.sees("("):
            self.take()
            inside = self.within(")")
            return self.raised(Part(_fenced("(", inside, ")"), inside))
        if self.sees("|") and not self.in_bars:
            self.take()
            return self.raised(Part(_fenced("|", self.within("|"), "|")))
        raise self.error()

    def named(self) -> Part:
        name, under = self.take(), ""
        if self.next is not None and self.next.kind == "subscript":
            under = _subscript(self.take())
        called = self.sees("(") and self.next is not None and self.next.near
        if name in BIG and not called:
            operator = f'<mo movablelimits="false">{BIG[name]}</mo>'
            return Part(f"<munder>{operator}{under}</munder>" if under else operator, big=True)
        if name.islower() and (len(name) > 1 or name in "am") and name not in FUNCTIONS and not under and not called:
            return Part(f"<mtext>{escape(name, quote=False)}</mtext>", word=True)
        html = f"<msub>{_name(name)}{under}</msub>" if under else _name(name)
        if called:
            self.take()
            html += _fenced("(", self.within(")"), ")")
        return self.raised(Part(html))

    def within(self, end: str) -> str:
        """Read what stands before a closing sign, commas included."""
        before, self.in_bars = self.in_bars, end == "|"
        found = self.listed()
        self.take(end)
        self.in_bars = before
        return found

    def listed(self) -> str:
        """Read what stands between commas."""
        found = self.relation()
        while self.sees(","):
            found += _sign(self.take()) + self.relation()
        return found

    def raised(self, base: Part) -> Part:
        if not self.sees("^"):
            return base
        self.take()
        power = self.factor()
        return Part(f"<msup><mrow>{base.html}</mrow><mrow>{power.inside or power.html}</mrow></msup>")


def _sign(text: str, form: str = "") -> str:
    shape = f' form="{form}"' if form else ""
    return f"<mo{shape}>{escape(SIGNS.get(text, text))}</mo>"


def _name(text: str) -> str:
    """Return a name; single letters slant by style, for fonts of slanted mathematical letters are rare."""
    return f'<mi mathvariant="normal" class="letter">{text}</mi>' if len(text) == 1 else f"<mi>{text}</mi>"


def _fenced(left: str, inside: str, right: str) -> str:
    tall = "" if "<mfrac>" in inside else ' stretchy="false"'
    return f'<mrow><mo form="prefix"{tall}>{left}</mo>{inside}<mo form="postfix"{tall}>{right}</mo></mrow>'


def _joined(parts: list[Part]) -> str:
    """Return factors side by side; words stand farther apart."""
    found, before = "", None
    for part in parts:
        space = "" if before is None else WORD_SPACE if before.word or part.word else SPACE
        found, before = found + space + part.html, part
    return found


def _subscript(text: str) -> str:
    """Return what stands below: letters, numbers and signs, without spaces between them."""
    found = ""
    pieces = re.findall(r"\d+|[A-Za-z]+|\.\.|\S", text.removeprefix("_").removeprefix("(").removesuffix(")"))
    for piece in pieces:
        if piece.isalpha():
            found += _name(piece)
        elif piece.isdigit():
            found += f"<mn>{piece}</mn>"
        else:
            found += f'<mo stretchy="false" lspace="0" rspace="0">{SIGNS.get(piece, piece)}</mo>'
    return found if len(pieces) == 1 else f"<mrow>{found}</mrow>"
