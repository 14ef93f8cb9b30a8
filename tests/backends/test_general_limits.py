"""sort -g of hexadecimal numbers at the limits of doubles and of long doubles: every backend, and the system's sort."""

from __future__ import annotations

import os
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cli import app as door
from tests.test_line_keys import needs_sort

_DIGITS = ("1", "1.8", "1.0000000000001", "1.0000000000002", "1.ffffffffffffe", "1.fffffffffffff")
_DOUBLES = (-1074, -1073, -1060, -1023, -1022, -1021, -54, -53, -1, 0, 1, 52, 53, 62, 63, 64, 1021, 1022, 1023, 1024)
_BEYOND = (-16440, -16400, -16382, -16000, -5000, -2000, -1080, 1030, 1100, 5000, 16000, 16382, 16383)
_RAGGED = [
    *("0x1.8p-1075", "0x0.8p-1074", "0x1.00000000000008p0", "0x1.000000000000080001p0", "0x1.7ffffffffffff8p1023"),
    *("0x1.fffffffffffff7ffp1023", "0x1.fffffffffffff8p1023", "0x1.fffffffffffff8000000000000001p1023"),
    *("0x1.fffffffffffffffep16383", "0x1.ffffffffffffffffp16383", "0x1.fffffffffffffffffp16383", "0x1p16384"),
    *("0x1p-16445", "0x1.8p-16445", "0x1p-16446", "0x1.8p-16446", "0x1.000001p-16446", "0x1p-16447", "0x.8p-16444"),
    *("0x1p99999999999999999999", "-0x1p99999999999999999999", "0x1p-99999999999999999999", "0x0p99999999999999999999"),
    *("0x123456789abcdef0123456789", "0x123456789abcdef0123456788", "0x123456789abcdef1", "0x123456789abcdef08"),
    *(f"0x{'f' * 40}p-160", f"0x.{'0' * 40}1p160", f"0x1{'0' * 260}p-1040", f"0x{'0' * 400}1", f"0x1.{'0' * 400}1"),
    *(
        "0x",
        "0x.",
        "0x.p1",
        "0xp1",
        "0x1p",
        "0x1p+",
        "0x1.p-",
        "0X1P4",
        "0xAp-3",
        "0xap-3",
        "-0X.8P1",
        "+0x1p0",
        " 0x1",
    ),
    *("1e308", "1.7976931348623157e308", "1.7976931348623158e308", "4.9406564584124654e-324", "2.4e-324", "1e4932"),
    *("inf", "-inf", "nan", "-nan", "infinity", "0", "-0", "0x0", "-0x0p0", "", "x", "1", "1.0", "16", "10"),
]
"""Numbers that are halfway between doubles or long doubles, that have many digits, that are none, and decimal ones."""


def written() -> list[bytes]:
    """Numbers whose order long doubles tell: exact, and far enough from each other. Infinite ones, too."""
    found: dict[Fraction, bytes] = {}
    for digits in _DIGITS:
        for power in (*_DOUBLES, *(_BEYOND if len(digits) < 4 else ())):
            whole, _, fraction = digits.partition(".")
            value = Fraction(int(whole + fraction, 16)) / 16 ** len(fraction) * Fraction(2) ** power
            found.setdefault(value, b"0x%sp%d" % (digits.encode(), power))
            found.setdefault(-value, b"-0X%sP%+d" % (digits.upper().encode(), power))
    return [*found.values(), b"0x1p16384", b"-0x1p16384", b"0x1p-16446", b"0x1p16999", b"0x1p-16999", b"0x0p0", b"0"]


def output(folder: Path, *arguments: str) -> bytes:
    """What gpumerge sort writes to a file."""
    assert door.invoke(["sort", *arguments, "-o", str(folder / "out")]) == 0, arguments
    return (folder / "out").read_bytes()


def shuffled(rng: np.random.Generator, numbers: list[bytes], times: int) -> list[bytes]:
    """Each number so many times, some with a word behind it, in any order."""
    many = numbers * times
    return [many[at] + (b" %d" % (at % 5) if at % 3 == 0 else b"") for at in rng.permutation(len(many))]


def systems_sort(folder: Path, arguments: list[str]) -> bytes:
    done = subprocess.run(["sort", *arguments], cwd=folder, env=os.environ | {"LC_ALL": "C"}, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_sort
@pytest.mark.parametrize("options", [["-g"], ["-gr"], ["-gs"], ["-gu"], ["-k1,1g", "-k2,2nr"]], ids=" ".join)
def test_limits_are_those_of_the_systems_sort(
    backend: Backend, rng: np.random.Generator, options: list[str], tmp_path: Path
) -> None:
    numbers = written()
    names = []
    for number in range(3):
        (tmp_path / f"{number}").write_bytes(b"\n".join([*shuffled(rng, numbers, 4), b""]))
        names.append(str(tmp_path / f"{number}"))
    expected = systems_sort(tmp_path, [*options, *names])
    assert output(tmp_path, f"--backend={backend.name}", *options, *names) == expected
    for name in names:
        Path(name).write_bytes(systems_sort(tmp_path, [*options, name]))
    assert output(tmp_path, f"--backend={backend.name}", "-m", *options, *names) == expected


@pytest.mark.gpu
@pytest.mark.parametrize("options", [["-g"], ["-gr"], ["-gs"], ["-gu"], ["-k1,1g", "-k2,2nr"]], ids=" ".join)
def test_any_number_is_the_same_on_a_device(
    gpu_backend: Backend, rng: np.random.Generator, options: list[str], tmp_path: Path
) -> None:
    """Also numbers that long doubles round, where the system's sort may differ."""
    digits = [b"0x%x.%013xp%d" % tuple(drawn) for drawn in zip(
        rng.integers(0, 99, 2000).tolist(), rng.integers(0, 1 << 52, 2000).tolist(),
        rng.choice([*_DOUBLES, *_BEYOND], 2000).tolist(), strict=True,
    )]  # fmt: skip
    lines = shuffled(rng, [*written(), *(text.encode() for text in _RAGGED), *digits], 2)
    names = []
    for number in range(2):
        (tmp_path / f"{number}").write_bytes(b"\n".join([*lines[number::2], b""]))
        names.append(str(tmp_path / f"{number}"))
    expected = output(tmp_path, "--backend=cpu", *options, *names)
    assert output(tmp_path, "--backend=gpu", *options, *names) == expected
    for name in names:
        Path(name).write_bytes(output(tmp_path, "--backend=cpu", *options, name))
    assert output(tmp_path, "--backend=gpu", "-m", *options, *names) == expected
