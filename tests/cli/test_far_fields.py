"""Keys in fields that no line has, however far: work ends as soon as the line does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAR = str((1 << 62) + 1)
"""As the number of a field or a character."""


@pytest.mark.parametrize("separator", [[], ["-t,"]])
@pytest.mark.parametrize(
    "key",
    [f"-k{FAR}n", f"-k{FAR}.1nf,1", f"-k2,{FAR}n", f"-k1.{FAR}nb", f"-k1,1.{FAR}", f"-k{FAR},{FAR}", f"-k{FAR},1n"],
)
def test_far_fields_end(tmp_path: Path, key: str, separator: list[str]) -> None:
    lines = [f"{number % 7},{number} {'x' * (number % 90)}\n" for number in range(40)]
    (tmp_path / "a.txt").write_text("".join(lines))
    # A loop that does not end would hold this process, too.
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", "sort", "-s", *separator, key, "a.txt"],
        cwd=tmp_path, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    text = done.stdout.decode().splitlines(keepends=True)
    assert sorted(text) == sorted(lines)
    if key.startswith(f"-k{FAR}"):
        assert text == lines  # all keys are empty, and the sort is stable
