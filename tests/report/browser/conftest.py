"""A headless Chromium of the system, driven by Playwright; without either, browser tests skip and say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
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


class Window:
    """A browser's window on an address, with the errors and the requests of its page."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def check(self) -> None:
        """There were no errors but refused requests (status 4xx), and no requests to other sites."""
        assert [text for text in self.complaints if "the server responded with a status of 4" not in text] == []
        assert [url for url in self.requests if not url.startswith(self.address)] == []


class Opened(Window):
    """A window on a file."""

    def go(self, where: str = "") -> Any:
        """Open the page, or a place in it, and wait until it is ready."""
        self.page.goto(self.address + where)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def check(self) -> None:
        """There were no errors, and no requests but for the file itself."""
        assert self.complaints == []
        assert {url.partition("#")[0] for url in self.requests} == {self.address}


@pytest.fixture
def windows(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a fresh window; at the end of the test check that nothing went wrong."""
    contexts, windows = [], []

    def open_window(kind: type[Window], address: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}))
        windows.append(kind(contexts[-1].new_page(), address))
        return windows[-1]

    yield open_window
    for context in contexts:
        context.close()
    for window in windows:
        window.check()


@pytest.fixture
def opened(windows: Callable[..., Any]) -> Callable[..., Opened]:
    """Open a file."""
    return lambda path, **options: windows(Opened, path.as_uri(), **options)
