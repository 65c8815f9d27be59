"""A headless Chromium of the system, driven by Playwright; without either, browser tests skip and say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for one module: Playwright keeps an event loop running, which other modules may not want."""
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip("browser tests need chromium (on Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Opened:
    """A page that is open, and what it complained of or asked of a network."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.as_uri()

    def go(self, where: str = "") -> Any:
        """Open the page, or a place in it, and wait until it answers."""
        self.page.goto(self.address + where)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def check(self) -> None:
        """Nothing went wrong, and nothing but the file itself was asked for."""
        assert self.complaints == []
        assert {url.partition("#")[0] for url in self.requests} == {self.address}


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open a file in a fresh window; at the end of the test check that nothing went wrong."""
    contexts, pages = [], []

    def open_file(path: Path, **options: Any) -> Opened:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        pages.append(Opened(context.new_page(), path))
        return pages[-1]

    yield open_file
    for context in contexts:
        context.close()
    for page in pages:
        page.check()
