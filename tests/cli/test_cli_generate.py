"""gpumerge generate: files of the asked shape, the same from the same seed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.compare.key_shapes import SHAPES
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order


def generate(*arguments: object) -> None:
    assert invoke(["generate", *map(str, arguments)]) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_raw_files_have_the_dtype_of_their_suffix(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / f"a.{dtype[0]}{''.join(filter(str.isdigit, dtype))}"
    generate(path, "--count", 1000)
    images = Order.of(dtype).image(np.fromfile(path, dtype))
    assert images.size == 1000
    assert (images[1:] >= images[:-1]).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_family_of_each_shape_is_sorted(tmp_path: Path, shape: str, reverse: bool) -> None:
    paths = [tmp_path / name for name in ("a.i32", "b.i32", "c.i32")]
    generate(*paths, "--count", "2^10", "--shape", shape, *(["-r"] if reverse else []))
    for path in paths:
        keys = np.fromfile(path, np.int32)[:: -1 if reverse else 1].astype(np.int64)
        assert keys.size == 1024
        assert (np.diff(keys) >= 0).all()


def test_npy_holds_the_asked_dtype_and_byte_order(tmp_path: Path) -> None:
    generate(tmp_path / "a.npy", "--count", 10)
    generate(tmp_path / "b.npy", "--count", 10, "--dtype", ">f8")
    a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
    assert (a.dtype, a.shape) == (np.dtype(np.int32), (10,))
    assert b.dtype.newbyteorder("=") == np.float64
    assert (np.abs(b.astype(float)) <= 1).all()
    assert (np.diff(b.astype(float)) >= 0).all()


def test_raw_files_may_be_big_endian(tmp_path: Path) -> None:
    generate(tmp_path / "a.bin", "--count", 100, "--dtype", ">i4")
    keys = np.fromfile(tmp_path / "a.bin", ">i4").astype(np.int64)
    assert (np.diff(keys) >= 0).all()


@pytest.mark.parametrize("numeric", [False, True])
def test_text_is_in_its_order(tmp_path: Path, numeric: bool) -> None:
    generate(tmp_path / "a.txt", "--count", "1e4", *(["-n"] if numeric else []))
    lines = (tmp_path / "a.txt").read_bytes().splitlines()
    assert len(lines) == 10_000
    assert lines == sorted(lines, key=int if numeric else None)


def test_shuffled_files_are_not_sorted_and_seeds_differ(tmp_path: Path) -> None:
    first, same, other = (tmp_path / name for name in ("a.i64", "b.i64", "c.i64"))
    generate(first, "--count", 1000, "--shuffled")
    generate(same, "--count", 1000, "--shuffled", "--seed", 0)
    generate(other, "--count", 1000, "--shuffled", "--seed", 1)
    assert (np.diff(np.fromfile(first, np.int64).astype(float)) < 0).any()
    assert first.read_bytes() == same.read_bytes() != other.read_bytes()


def test_no_items_make_an_empty_file(tmp_path: Path) -> None:
    for name in ("a.i32", "a.txt"):
        generate(tmp_path / name, "--count", 0)
        assert (tmp_path / name).stat().st_size == 0
    generate(tmp_path / "a.npy", "--count", 0)
    assert np.load(tmp_path / "a.npy").shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["a.bin"], "a.bin"), (["a.i32", "--dtype", "int64"], "int64"), (["no/such/a.i32"], "no such file")],
)
def test_what_cannot_be_made_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["generate", *arguments]) == 2
    error = capfd.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("g.txt", "g.txt"), "g.txt is named twice"),
        (("g.txt", "./g.txt"), "./g.txt is named twice, once as g.txt"),
        (("g.txt", "h.txt", "link.txt"), "link.txt is named twice, once as h.txt"),
    ],
)
def test_a_file_named_twice_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    files: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.txt").symlink_to("h.txt")
    assert invoke(["generate", *files]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"gpumerge: {words}")
    assert error.count("\n") == 1
    assert os.listdir(tmp_path) == ["link.txt"]


def test_generate_and_path_take_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / name) for name in ("a.i32", "b.i32")]
    assert invoke(["generate", "-q", "--count", "4", *names]) == 0
    assert invoke(["path", "--quiet", *names]) == 0
    assert capfd.readouterr().err == ""
