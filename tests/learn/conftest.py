"""The emulator for the tests of puzzles, compiled once for each file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn.on_cpu import Emulator


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    try:
        made = Emulator(seconds=1)
    except DeviceError as error:
        pytest.skip(f"needs a compiler of C++; {error.way_out}")
    with made:
        yield made
