"""Memory stays within its limit whatever the order of the inputs and the size of their items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from tests.engine.test_huge_lines import peak_of

MB = 1 << 20
_HUGE = 1 << 30


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [pytest.param([], marks=pytest.mark.thorough), ["-S50M"]])
def test_a_merge_of_unsorted_lines_takes_little_memory(
    rng: np.random.Generator, tmp_path: Path, limit: list[str]
) -> None:
    """It looks at the next lines only, so more memory is of no use to it."""
    names = [str(tmp_path / name) for name in "ab"]
    for name in names:
        Path(name).write_bytes(b"".join(b"%d\n" % number for number in rng.integers(0, 10**9, 3_000_000).tolist()))
    out = tmp_path / "out"
    assert peak_of(["sort", "-m", "-n", "--backend=cpu", *limit, *names, "-o", str(out)]) < 150 * MB
    assert out.stat().st_size == sum(Path(name).stat().st_size for name in names)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("command", ["merge", "sort", "union", "check"])
def test_no_items_of_a_huge_size_take_no_memory(tmp_path: Path, command: str) -> None:
    name, out = str(tmp_path / "a.npy"), tmp_path / "out.npy"
    np.save(name, np.empty(0, f"V{_HUGE}"))
    output = [] if command == "check" else ["-o", str(out)]
    assert peak_of([command, "--backend=cpu", "-S50M", name, name, *output]) < 200 * MB
    assert command == "check" or out.read_bytes() == Path(name).read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        "sort",
        pytest.param("merge", marks=pytest.mark.thorough),
        pytest.param("union", marks=pytest.mark.thorough),
        pytest.param("check", marks=pytest.mark.thorough),
    ],
)
def test_huge_records_stay_within_the_limit_or_are_refused(
    rng: np.random.Generator, tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    """However many workers there could be: each would hold an item at least."""
    size, name, out = 20 * MB, str(tmp_path / "a.bin"), tmp_path / "out.bin"
    data = bytearray(rng.bytes(8 * size))
    for number in range(8):
        data[number * size : number * size + 8] = number.to_bytes(8, "big")
    Path(name).write_bytes(data)
    output = [] if command == "check" else ["-o", str(out)]
    where = [command, "--backend=cpu", "--record-size", str(size), "--key-size=8", name, *output]
    assert peak_of([*where, "--threads=8", "-S100M"]) < 200 * MB
    assert command == "check" or out.read_bytes() == data
    capfd.readouterr()
    out.unlink(missing_ok=True)
    assert invoke([*where, "-S50M"]) == 2
    message = capfd.readouterr().err
    what = "an item has 21.0 MB, and 4 of them exceed the memory of 52.4 MB"
    assert message == f"gpumerge: {name}: {what}; allow 80M with -S\n"
    assert not out.exists()


def test_a_rank_of_huge_records_is_within_the_limit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = tmp_path / "a.bin"
    with open(name, "wb") as file:
        file.truncate(60 * MB)
    assert invoke(["rank", "--at=1", f"--record-size={20 * MB}", "--key-size=8", "-S50M", str(name)]) == 2
    assert "4 of them exceed the memory of 52.4 MB" in capfd.readouterr().err
