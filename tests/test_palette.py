"""One palette: every colour of figures and pages stands in wayscore/palette.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wayscore
from wayscore import palette

SOURCE = Path(wayscore.__file__).parent
HEX = re.compile(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", re.IGNORECASE)
KNOWN = {shade for shades in palette.PALETTE.values() for shade in shades} | {"#fff", "#000"}
FOLDERS = ("figures", "lab", "report")


@pytest.mark.parametrize("folder", FOLDERS)
def test_colours_are_those_of_the_palette(folder: str) -> None:
    for file in sorted((SOURCE / folder).rglob("*")):
        if file.suffix in (".py", ".css", ".html", ".svg") and "vendor" not in file.parts:
            found = {colour.lower() for colour in HEX.findall(file.read_text(encoding="utf-8"))}
            assert found <= (KNOWN if file.suffix == ".svg" else {"#fff"}), file


def test_pages_use_no_variable_that_is_not_defined() -> None:
    defined = set(re.findall(r"(--[a-z0-9-]+):", palette.base_css()))
    sheets = [SOURCE / "base.css", *SOURCE.glob("lab/study/web/static/*.css"), *SOURCE.glob("report/page/static/*.css")]
    assert len(sheets) == 3
    for file in sheets:
        text = file.read_text(encoding="utf-8")
        own = set(re.findall(r"(--[a-z0-9-]+):", text))
        others = {
            name
            for other in file.parent.glob("*")
            if other.suffix in (".css", ".js", ".html")
            for name in re.findall(r"(--[a-z0-9-]+)[\"']?[:,]", other.read_text(encoding="utf-8"))
        }
        assert set(re.findall(r"var\((--[a-z0-9-]+)", text)) <= defined | own | others, file


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("name", "least"), [("ink", 7), ("muted", 4.5), ("query-text", 4.5), ("accent", 4.5)])
def test_text_can_be_read(name: str, least: float) -> None:
    for colour, page in zip(palette.PALETTE[name], palette.PALETTE["page"], strict=True):
        assert _contrast(colour, page) >= least


@pytest.mark.parametrize("name", ["reference", "query", "border", *palette.RUNS])
def test_lines_can_be_seen(name: str) -> None:
    for colour, card in zip(palette.PALETTE[name], palette.PALETTE["card"], strict=True):
        assert _contrast(colour, card) >= 3
