"""Outputs that are written through a mapping: when they are, and that nothing else differs."""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli import costs
from gpumerge_cli.costs import Costs
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import DisorderError, OutputError
from gpumerge_cli.formats import output_file
from gpumerge_cli.formats.output_file import FORCED, OutputFile, mapping_pays
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.order.equals import Equals
from tests.jobs_of import merge_job, sort_job
from tests.layouts import layout
from tests.oracles import items_of

SIZE = 1 << 20
DATA = np.arange(SIZE, dtype=np.uint32).view(np.uint8)[:SIZE]
CPU = Resources("cpu", threads=3)
Write = Callable[[str, object], str]


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCED, "1")


def address(output: OutputFile) -> int:
    target = output.target(0, 0)
    assert target is not None
    return target.memory


def maps() -> str:
    return Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("durable", [False, True])
def test_a_mapped_output_appears_whole(tmp_path: Path, forced: None, durable: bool) -> None:
    output = OutputFile(str(tmp_path / "out"))
    output.write_at(0, DATA[:5])
    assert not address(output)
    output.reserve(SIZE)
    assert address(output)
    assert ".out.gpumerge-" in maps()
    for start, stop in ((600_000, SIZE), (5, 600_000)):
        output.write_at(start, DATA[start:stop])
    assert not (tmp_path / "out").exists()
    output.commit(durable=durable)
    output.abort()
    assert (tmp_path / "out").read_bytes() == DATA.tobytes()
    assert os.listdir(tmp_path) == ["out"]
    assert str(tmp_path) not in maps()


def test_an_aborted_output_is_unmapped(tmp_path: Path, forced: None) -> None:
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(SIZE)
    output.populate(2)
    output.abort()
    output.abort()
    assert os.listdir(tmp_path) == []
    assert str(tmp_path) not in maps()
    with pytest.raises(OutputError):  # from a thread that nobody waited for
        output.write_at(0, DATA)


def test_pages_are_brought_ahead(tmp_path: Path, forced: None) -> None:
    sink = open_sink(str(tmp_path / "out.i32"), layout("raw"), np.dtype("int32"), SIZE // 4)
    sink.reserve(SIZE)
    sink.populate(3)
    sink.write_at(0, DATA)
    sink.commit()
    assert (tmp_path / "out.i32").read_bytes() == DATA.tobytes()
    stream = open_sink("/dev/null", layout("text"), None, 0)
    stream.reserve(SIZE)
    stream.populate(3)
    stream.abort()


def test_headers_lie_ahead_of_mapped_items(tmp_path: Path, forced: None) -> None:
    values = np.arange(5000, dtype=np.int32)
    sink = open_sink(str(tmp_path / "out.npy"), layout("raw"), np.dtype(">i4"), 5000)
    sink.reserve(values.nbytes)
    sink.write_at(0, sink.encode(values.view(np.uint8)))
    sink.commit(count=5000)
    assert np.array_equal(np.load(tmp_path / "out.npy"), values)


def test_mapping_is_chosen_by_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FORCED, raising=False)
    monkeypatch.setattr(costs, "load_costs", lambda: Costs(written=5e9, mapped=1e9))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    large = 1 << 30
    assert [mapping_pays(large, threads) for threads in (None, 1, 5, 6, 99)] == [True, False, False, True, True]
    assert not mapping_pays(1 << 20, 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert not mapping_pays(large, None)
    assert not mapping_pays(large, 16)
    monkeypatch.setenv(FORCED, "0")
    monkeypatch.setattr(costs, "load_costs", lambda: Costs(mapped=1e12))
    assert not mapping_pays(large, None)


class _Promises:
    """A C library whose fallocate takes no room."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fallocate(self, descriptor: int, mode: int, start: int, nbytes: int) -> int:
        if self._number:
            ctypes.set_errno(self._number)
            return -1
        os.truncate(descriptor, nbytes)
        return 0


@pytest.mark.parametrize("number", [0, errno.EOPNOTSUPP])
def test_room_that_is_not_taken_is_not_mapped(
    tmp_path: Path, forced: None, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(output_file, "_libc", lambda: _Promises(number))
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(SIZE)
    assert not address(output)
    output.write_at(0, DATA)
    output.commit()
    assert (tmp_path / "out").read_bytes() == DATA.tobytes()


def test_a_file_that_cannot_be_mapped_is_written_by_calls(
    tmp_path: Path, forced: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, nbytes: int) -> None:
        raise OSError

    monkeypatch.setattr(output_file, "Mapping", refuse)
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(SIZE)
    output.write_at(0, DATA)
    output.commit()
    assert (tmp_path / "out").read_bytes() == DATA.tobytes()


@pytest.mark.parametrize("moment", ["before a write", "after all writes"])
def test_a_lost_file_is_no_output(tmp_path: Path, forced: None, moment: str) -> None:
    (tmp_path / "out").write_bytes(b"old")
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(SIZE)
    if moment == "after all writes":
        output.write_at(0, DATA)
    os.truncate(next(tmp_path.glob(".out.*")), 5000)
    if moment == "before a write":
        with pytest.raises(OutputError, match="lost the file's bytes"):
            output.write_at(0, DATA)
    with pytest.raises(OutputError, match="lost the file's bytes"):
        output.commit()
    output.abort()
    assert (tmp_path / "out").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.one_of_each
@pytest.mark.parametrize("handler", ["", "faulthandler.enable()", "signal.signal(signal.SIGBUS, signal.SIG_IGN)"])
@pytest.mark.parametrize("cause", ["a page", "kill"])
def test_other_bus_errors_end_as_ever(tmp_path: Path, handler: str, cause: str) -> None:
    """A fault of somebody else's mapping, also after one of ours."""
    act = {
        "a page": "os.ftruncate(file.fileno(), 0); other[0] = 1",
        "kill": "os.kill(os.getpid(), signal.SIGBUS); time.sleep(0.1); print('alive')",
    }[cause]
    program = f"""if True:
        import faulthandler, mmap, os, signal, sys, time
        import numpy as np
        from gpumerge_cli.formats.output_file import OutputFile
        {handler}
        output = OutputFile({str(tmp_path / "out")!r})
        output.reserve(1 << 20)
        os.ftruncate(output.target(0, 0).descriptor, 0)
        try:
            output.write_at(0, np.zeros(1 << 20, np.uint8))
        except Exception as error:
            print(type(error).__name__, flush=True)
        output.abort()
        file = open({str(tmp_path / "other")!r}, "w+b")
        file.truncate(4096)
        other = mmap.mmap(file.fileno(), 4096)
        {act}
    """
    environment = os.environ | {FORCED: "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    ignored = "SIG_IGN" in handler and cause == "kill"
    assert done.returncode == (0 if ignored else -signal.SIGBUS), done.stderr
    assert done.stdout == "OutputError\n" + ("alive\n" if ignored else "")
    assert ("Fatal Python error: Bus error" in done.stderr) is ("enable" in handler)


def test_pytest_itself_lets_faults_be_told() -> None:
    """So the tests above run with another handler of SIGBUS in place."""
    assert faulthandler.is_enabled()


def files_of(write: Write, kind: str, rng: np.random.Generator) -> tuple[list[str], dict[str, object]]:
    """(inputs in order, options) of a kind."""
    if kind == "lines":
        runs = [sorted(b"%d" % number for number in rng.integers(0, 10**6, 20_000)) for _ in range(3)]
        names = [write(f"{run}.txt", b"\n".join(lines)) for run, lines in enumerate(runs)]  # the last newline lacks
        return names, {}
    if kind == "records":
        from gpumerge_cli.formats.record_options import RecordRequest

        rows = rng.integers(0, 256, (3, 5000, 20), np.uint8)
        runs = [b"".join(sorted((row.tobytes() for row in run), key=lambda row: row[:4])) for run in rows]
        names = [write(f"{run}.rec", data) for run, data in enumerate(runs)]
        return names, {"records": RecordRequest(20, None, 4)}
    keys = rng.integers(0, 100, (3, 50_000)).astype(kind)
    keys.sort(axis=1)
    return [write(f"{run}.npy", data) for run, data in enumerate(keys)], {}


KINDS = ["|u1", "<i2", ">i4", "<u8", "<f4", ">f8", "<f2", "lines", "records"]


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unique", [False, True])
def test_the_same_bytes_either_way(
    tmp_path: Path,
    small_chunks: None,
    write: Write,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    unique: bool,
) -> None:
    """Merges, sorts in memory, and sorts that spill."""
    names, options = files_of(write, kind, rng)
    suffix = ".npy" if names[0].endswith("npy") else Path(names[0]).suffix
    items = items_of(**options, stable=unique and suffix in (".txt", ".rec"))
    found: dict[str, list[bytes]] = {}
    for way in "01":
        monkeypatch.setenv(FORCED, way)
        output = str(tmp_path / f"out{suffix}")
        found[way] = []
        for some in (names[:2], names):
            run(merge_job(some, output, items, CPU, equals=Equals.of(unique)))
            found[way].append(Path(output).read_bytes())
        for memory in (None, 200_000):
            run(sort_job(names[::-1], output, items, CPU, equals=Equals.of(unique), memory=memory))
            found[way].append(Path(output).read_bytes())
    assert found["0"] == found["1"]
    assert all(found["0"])


@pytest.mark.parametrize("kind", ["<i4", "lines"])
def test_disorder_leaves_nothing(
    tmp_path: Path, write: Write, rng: np.random.Generator, forced: None, kind: str
) -> None:
    names, _ = files_of(write, kind, rng)
    if kind == "lines":
        with open(names[1], "ab") as file:
            file.write(b"\n0\n")
    else:
        bad = np.load(names[1])
        bad[-1] = -1
        np.save(names[1], bad)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(DisorderError):
        run(merge_job(names, str(tmp_path / f"out{Path(names[0]).suffix}"), resources=CPU))
    assert sorted(os.listdir(tmp_path)) == before
