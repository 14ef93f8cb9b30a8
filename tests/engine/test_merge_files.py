"""Merging files from end to end, on every backend."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine import run as engine_run
from gpumerge_cli.engine.check import DisorderSearch
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.errors import DisorderError, GpumergeError, InputError, OutputError, UsageError
from gpumerge_cli.plan import Planner, chunks_between
from gpumerge_cli.results.run import MergeReport
from tests.jobs_of import merge_job
from tests.oracles import items_of, merged_keys, same_bits
from tests.strategies import as_text, key_runs, line_runs

Write = Callable[[str, Any], str]


def on(backend: Backend, threads: int | None = None) -> Resources:
    return Resources(backend.name, threads=threads)  # type: ignore[arg-type]


def merge(backend: Backend, inputs: list[str], output: str, **items: Any) -> MergeReport:
    return run_job(merge_job(inputs, output, items_of(**items), on(backend)))


@pytest.mark.parametrize("inputs", [1, 2, 3, 7])
@pytest.mark.parametrize("suffix", [".i32", ".npy"])
def test_keys_in_many_chunks(
    backend: Backend,
    small_chunks: None,
    write: Write,
    tmp_path: Path,
    rng: np.random.Generator,
    inputs: int,
    suffix: str,
) -> None:
    runs = [np.sort(rng.integers(0, 5000, rng.integers(3000, 9000)).astype(np.int32)) for _ in range(inputs)]
    names = [write(f"{number}{suffix}", run) for number, run in enumerate(runs)]
    report = merge(backend, names, str(tmp_path / "out.npy"))
    assert same_bits(np.load(tmp_path / "out.npy"), merged_keys(runs))
    assert report.items == sum(map(len, runs))
    assert [file.items for file in report.inputs] == [len(run) for run in runs]
    assert report.chunks > inputs
    assert sorted(os.listdir(tmp_path)) == sorted([*map(os.path.basename, names), "out.npy"])


def test_unchecked_inputs_out_of_order_come_out_whole(
    small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    on = Resources("cpu", threads=2)
    keys = [rng.integers(0, 5000, 20_000).astype(np.int32) for _ in range(5)]
    names = tuple(write(f"{number}.i32", run) for number, run in enumerate(keys))
    run_job(merge_job(names, str(tmp_path / "out.i32"), resources=on, check=False))
    assert np.array_equal(np.sort(np.fromfile(tmp_path / "out.i32", np.int32)), np.sort(np.concatenate(keys)))

    lines = [
        [b"%d" % key + b"y" * (9000 if key % 97 == 0 else 0) for key in rng.integers(0, 999, 2_000)] for _ in range(3)
    ]
    names = tuple(write(f"{number}.txt", as_text(run)) for number, run in enumerate(lines))
    items = items_of(numeric=True)
    run_job(merge_job(names, str(tmp_path / "out.txt"), items, on, check=False))
    found = (tmp_path / "out.txt").read_bytes().splitlines()
    assert sorted(found) == sorted(line for run in lines for line in run)


@pytest.mark.one_in(2)
@settings(max_examples=40)
@given(case=key_runs(most_runs=4))
def test_any_keys(backend: Backend, tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    runs, descending = case
    folder = tmp_path_factory.mktemp("keys")
    names = []
    for number, run in enumerate(runs):
        run.tofile(folder / f"{number}")
        names.append(str(folder / f"{number}"))
    merge(backend, names, str(folder / "out"), dtype=runs[0].dtype.name, reverse=descending)
    assert (folder / "out").read_bytes() == merged_keys(runs, descending=descending).tobytes()


@pytest.mark.skipif(shutil.which("sort") is None, reason="needs sort; install coreutils")
@settings(max_examples=40)
@given(case=line_runs(most_runs=3), last_newline=st.booleans())
def test_lines_equal_the_systems_sort(
    backend: Backend, tmp_path_factory: pytest.TempPathFactory, case: Any, last_newline: bool
) -> None:
    runs, numeric, descending = case
    folder = tmp_path_factory.mktemp("lines")
    names = []
    for number, run in enumerate(runs):
        text = as_text(run)
        (folder / f"{number}.txt").write_bytes(text if last_newline or text == b"\n" else text[:-1])
        names.append(str(folder / f"{number}.txt"))
    merge(backend, names, str(folder / "out.txt"), numeric=numeric, reverse=descending)
    options = ["-n"] * numeric + ["-r"] * descending
    expected = subprocess.run(
        ["sort", "-m", *options, *names], env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=True
    ).stdout
    assert (folder / "out.txt").read_bytes() == expected


def test_lines_in_many_chunks(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    runs = [sorted(b"%d" % x for x in rng.integers(0, 99999, 4000)) for _ in range(3)]
    runs[1].append(b"~" * 20_000)
    names = [write(f"{number}.txt", as_text(run)) for number, run in enumerate(runs)]
    report = merge(backend, names, str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_bytes() == as_text(sorted(line for run in runs for line in run))
    assert report.items == 12_001


def test_output_may_be_an_input(backend: Backend, write: Write) -> None:
    a, b = write("a.u8", np.array([1, 3], np.uint8)), write("b.u8", np.array([2], np.uint8))
    merge(backend, [a, b], a)
    assert Path(a).read_bytes() == bytes([1, 2, 3])


def test_byte_orders_mix_and_the_first_decides(backend: Backend, write: Write, tmp_path: Path) -> None:
    a, b = write("a.npy", np.array([1, 300], ">i4")), write("b.i32", np.array([2, 400], "<i4"))
    merge(backend, [a, b], str(tmp_path / "out.npy"))
    result = np.load(tmp_path / "out.npy")
    assert result.dtype == np.dtype(">i4")
    assert result.tolist() == [1, 2, 300, 400]


def test_empty_inputs(backend: Backend, write: Write, tmp_path: Path) -> None:
    empty, one = write("empty.i64", b""), write("one.i64", np.array([5], np.int64))
    for inputs, expected in (([empty], []), ([empty, empty], []), ([empty, one, empty], [5])):
        merge(backend, inputs, str(tmp_path / "out.i64"))
        assert np.fromfile(tmp_path / "out.i64", np.int64).tolist() == expected
    blank = write("blank.txt", b"\n")
    merge(backend, [write("empty.txt", b""), blank], str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_bytes() == b"\n"


def test_a_stream_is_written_in_order(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    runs = [np.sort(rng.integers(0, 999, 20_000).astype(np.int16)) for _ in range(2)]
    names = [write(f"{number}.i16", run) for number, run in enumerate(runs)]
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as reader:
        run_job(merge_job(names, str(fifo), resources=on(backend, threads=3)))
        assert reader.stdout is not None
        assert reader.stdout.read() == merged_keys(runs).tobytes()


@pytest.mark.parametrize("position", [1, 17, 1023, 1024, 1025, 5_000, 9_999])
def test_disorder_is_found_wherever_it_is(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, position: int
) -> None:
    run = np.arange(10_000, dtype=np.int32)
    run[position] = -1
    run[9_999] = min(run[9_999], 5)  # a later one, so that the first is not found by luck
    good = write("good.i32", np.arange(0, 10_000, 2, dtype=np.int32))
    bad = write("bad.i32", run)
    output = write("out.i32", b"earlier")
    with pytest.raises(DisorderError) as caught:
        merge(backend, [good, bad], output)
    assert str(caught.value) == f"{bad}@{position}: disorder: -1 comes after {position - 1}; sort it first"
    assert Path(output).read_bytes() == b"earlier"
    assert sorted(os.listdir(tmp_path)) == ["bad.i32", "good.i32", "out.i32"]


@pytest.mark.parametrize(
    ("lines", "items", "where", "hint"),
    [
        ([b"9", b"10"], {}, 2, "the file is in -n order: add -n"),
        ([b"10", b"9"], {"numeric": True}, 2, "the file is in ascending bytewise order: leave -n out"),
        ([b"i", b"h", b"g", b"f", b"e", b"d", b"c", b"b", b"a"], {}, 2, "the file is in -r order: add -r"),
        ([b"10", b"9", b"8"], {}, 3, "the file is in -n -r order: add -n and add -r"),
        (
            [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"],
            {"reverse": True},
            2,
            "the file is in ascending bytewise order: leave -r out",
        ),
        ([b"a", b"c", b"b"], {}, 3, "name its key with -k, or sort it first, as LC_ALL=C sort does"),
        (
            [b"apple", b"Banana", b"cherry", b"Date", b"egg", b"Fig", b"grape", b"Hop"],
            {},
            2,
            "the file is in -f order: add -f",
        ),
        ([*(b"%dK" % n for n in range(1, 9)), b"1M"], {}, 9, "the file is in -h order: add -h"),
        ([b"f%d.txt" % n for n in range(1, 11)], {}, 10, "the file is in -V order: add -V"),
        ([*(b"%d" % n for n in range(1, 9)), b"1e3"], {}, 9, "the file is in -g order: add -g"),
    ],
)
def test_disorder_of_lines_says_which_order_would_hold(
    backend: Backend, write: Write, tmp_path: Path, lines: list[bytes], items: Any, where: int, hint: str
) -> None:
    bad = write("bad.txt", as_text(lines))
    with pytest.raises(DisorderError) as caught:
        merge(backend, [bad], str(tmp_path / "out"), **items)
    assert caught.value.where == f"{bad}:{where}"
    assert caught.value.way_out == hint


def test_no_check_merges_all_the_same(backend: Backend, write: Write, tmp_path: Path) -> None:
    bad = write("bad.i32", np.array([3, 1, 2], np.int32))
    run_job(merge_job((bad,), str(tmp_path / "out.i32"), resources=on(backend), check=False))
    assert sorted(np.fromfile(tmp_path / "out.i32", np.int32)) == [1, 2, 3]


def faults(write: Write, folder: Path) -> dict[str, tuple[list[str], str, dict[str, Any]]]:
    """Name -> (inputs, output, items): requests that cannot be honoured."""
    a, b, text = (
        write("a.i32", np.arange(3, dtype=np.int32)),
        write("b.f32", np.zeros(3, np.float32)),
        write("t", b"x\n"),
    )
    out = str(folder / "out")
    return {
        "missing": ([a, str(folder / "missing.i32")], out, {}),
        "folder": ([str(folder)], out, {"dtype": "int32"}),
        "different dtypes": ([a, b], out, {}),
        "text and binary": ([a, text], out, {}),
        "no input": ([], out, {}),
        "standard input twice": (["-", "-"], out, {}),
        "output folder missing": ([a], str(folder / "missing" / "out"), {}),
        "output is a folder": ([a], str(folder), {}),
        "output of another dtype": ([a], str(folder / "out.i64"), {}),
        "odd size": ([write("odd.i32", b"12345")], out, {}),
        "unknown suffix": ([write("a.xyz", b"")], out, {}),
        "unknown dtype": ([a], out, {"dtype": "int31"}),
    }


@pytest.mark.parametrize("fault", list(faults(lambda name, content: name, Path("."))))
def test_faults_are_one_line_and_leave_nothing(backend: Backend, write: Write, tmp_path: Path, fault: str) -> None:
    inputs, output, items = faults(write, tmp_path)[fault]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises((UsageError, InputError, OutputError)) as caught:
        merge(backend, inputs, output, **items)
    assert "\n" not in str(caught.value)
    assert caught.value.way_out
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_disorder_that_is_gone_when_it_is_looked_for(
    backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DisorderSearch, "outcome", lambda *arguments: Outcome(counts=[0]))
    paths = [write("a.i32", np.array([2, 1], np.int32)), write("b.i32", np.zeros(2, np.int32))]
    with pytest.raises(InputError) as caught:
        merge(backend, paths, str(tmp_path / "out.i32"))
    assert str(caught.value) == f"{paths[0]}: the file changed while it was read; merge it when nothing writes to it"
    assert not (tmp_path / "out.i32").exists()


def test_unreadable_files(backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.i32", np.zeros(2, np.int32))
    really = os.open

    def refuse(name: Any, *arguments: Any, **more: Any) -> int:
        if str(name) == path:  # the superuser may read anything, so permissions alone show nothing there
            raise PermissionError(13, "")
        return really(name, *arguments, **more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError) as caught:
        merge(backend, [path], str(tmp_path / "out.i32"))
    assert str(caught.value) == f"{path}: permission denied; check its permissions"


def test_a_shrinking_input_leaves_nothing(
    backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.i32", np.arange(10_000, dtype=np.int32))
    really = engine_local.budget_of

    def shrink(*arguments: Any) -> Any:
        os.truncate(path, 4000)
        return really(*arguments)

    monkeypatch.setattr(engine_local, "budget_of", shrink)
    with pytest.raises(InputError, match="sooner than when it was opened"):
        merge(backend, [path], str(tmp_path / "out.i32"))
    assert os.listdir(tmp_path) == ["a.i32"]


def test_an_interrupt_leaves_nothing(
    backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.i32", np.arange(10_000, dtype=np.int32))

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tasks, "record", interrupt)
    with pytest.raises(KeyboardInterrupt):
        merge(backend, [path], str(tmp_path / "out.i32"))
    assert os.listdir(tmp_path) == ["a.i32"]


def test_reports_account_for_the_bytes(backend: Backend, write: Write, tmp_path: Path) -> None:
    names = [write(f"{number}.f64", np.arange(5_000, dtype=np.float64)) for number in range(2)]
    report = merge(backend, names, str(tmp_path / "out.f64"))
    for stage in ("read", "check", "kernel", "write"):
        assert report.stage(stage).nbytes == 80_000
        assert 0 < report.stage(stage).seconds <= report.busy * report.workers
    assert report.wall >= report.busy
    assert report.bound
    assert report.backend == backend.name
    assert report.peak_memory > 0


def test_errors_have_one_root() -> None:
    for kind in (UsageError, InputError, DisorderError, OutputError):
        assert issubclass(kind, GpumergeError)
    assert str(InputError("is bad", where="a:1", way_out="mend it")) == "a:1: is bad; mend it"


def test_stdin_is_an_input(backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("in.txt", b"b\nd\n")
    other = write("other.txt", b"a\nc")
    with open(path, "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        merge(backend, ["-", other], str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_bytes() == b"a\nb\nc\nd\n"


def test_disorder_across_the_edge_of_chunks(
    backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chunk is in order by itself; only the neighbours across the edge are not."""
    path = write("a.i32", np.array([1, 2, 9, 3, 4, 5], np.int32))
    chunks = chunks_between([(0,), (12,), (24,)])
    monkeypatch.setattr(Planner, "spans", lambda *arguments, **parts: iter([[chunks]]))
    with pytest.raises(DisorderError, match="@3: disorder: 3 comes after 9"):
        merge(backend, [path], str(tmp_path / "out.i32"))


def test_an_input_written_to_meanwhile_leaves_nothing(
    backend: Backend, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.i32", np.arange(1000, dtype=np.int32))
    os.utime(path, (1, 1))
    really = engine_run.run_pass

    def touch(*arguments: Any, **more: Any) -> Any:
        result = really(*arguments, **more)
        os.utime(path)
        return result

    monkeypatch.setattr(engine_run, "run_pass", touch)
    with pytest.raises(InputError, match="changed while it was read"):
        merge(backend, [path], str(tmp_path / "out.i32"))
    assert os.listdir(tmp_path) == ["a.i32"]


def test_a_suffix_means_native_bytes(backend: Backend, write: Write, tmp_path: Path) -> None:
    foreign = write("a.npy", np.array([1, 300], ">i4"))
    merge(backend, [foreign], str(tmp_path / "out.i32"))
    assert np.fromfile(tmp_path / "out.i32", "=i4").tolist() == [1, 300]
    raw = write("b", np.array([1, 300], ">i4"))
    merge(backend, [raw], str(tmp_path / "out2.i32"), dtype=">i4")
    assert np.fromfile(tmp_path / "out2.i32", "=i4").tolist() == [1, 300]
    merge(backend, [raw], str(tmp_path / "out"), dtype=">i4")
    assert np.fromfile(tmp_path / "out", ">i4").tolist() == [1, 300]
    native = write("c.i32", np.array([2, 400], np.int32))
    with pytest.raises(UsageError, match="its suffix means int32 in this machine's byte order, --dtype says >i4"):
        merge(backend, [raw, native], str(tmp_path / "out3.i32"), dtype=">i4")
