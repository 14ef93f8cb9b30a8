"""Pages in headless Chromium, driven as a reader does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import needs

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Chromium for the tests of a file: while playwright's event loop runs, other libraries cannot run theirs."""
    playwright = needs.library("playwright.sync_api")
    path = needs.program("chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """What a page did besides showing itself."""

    def __init__(self, page: Any) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda one: self.errors.append(str(one)))
        page.on("dialog", lambda one: self.errors.append(one.message))
        page.on("request", lambda one: self.requests.append(one.url))


@pytest.fixture
def opened(chromium: Any) -> Callable[..., Any]:
    """A context manager that opens a file. It fails if the page complains, or asks for anything but its file."""

    @contextmanager
    def opening(file: Path, *, at: str = "", **options: Any) -> Iterator[Any]:
        context = chromium.new_context(**{"viewport": WIDE, **options})
        page = context.new_page()
        watched = Watched(page)
        page.goto(file.as_uri() + at)
        yield page
        page.wait_for_timeout(30)
        assert watched.errors == []
        assert {url.partition("#")[0] for url in watched.requests} <= {file.as_uri()}
        context.close()

    return opening
