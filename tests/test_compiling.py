"""Compiling is shown while it goes on, timed apart from the work, and counted by the cost model."""

from __future__ import annotations

import gzip
import io
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpumerge_cli import compiling, costs
from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu import presence
from gpumerge_cli.backends.gpu.compile_time import compile_seconds
from gpumerge_cli.backends.gpu.source import comparison_macros, compiler_options, kernel_directory
from gpumerge_cli.backends.select import select
from gpumerge_cli.cli import app as door
from gpumerge_cli.costs import Costs
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.measure import COMPILE, Span, Stopwatch
from gpumerge_cli.order.kinds import Order
from tests import needs
from tests.jobs_of import merge_job, sort_job
from tests.reference import ReferenceBackend

LONG = 60.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", 0.01)


def until_told(what: str, about: float = 3.0) -> None:
    """Compile until that was told."""
    heard = threading.Event()
    with compiling.notifying(lambda notice: heard.set()), compiling.compiling(what, about):
        assert heard.wait(LONG)


def test_what_takes_long_is_told_and_timed(impatient: None) -> None:
    notices: list[compiling.Notice] = []
    spans: list[Span] = []
    with compiling.notifying(notices.append), compiling.timed(spans.append):
        until_told("the kernels")
    assert notices == [compiling.Notice("the kernels", 3.0)]
    assert [span.name for span in spans] == [COMPILE]
    until_told("more")
    assert len(notices) == len(spans) == 1


def test_what_is_only_loaded_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", LONG)
    heard: list[object] = []
    with compiling.notifying(heard.append), compiling.timed(heard.append), compiling.compiling("the kernels", 3.0):
        pass
    assert heard == []


@pytest.mark.parametrize("command", ["merge", "sort", "check", "bench"])
def test_a_terminal_is_told_once_and_nothing_else_is(
    command: str, impatient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Compiler(ReferenceBackend):
        name = "cpu"

        def workspace(self, *arguments, **more):  # type: ignore[no-untyped-def]
            for what in ("one", "other", "one"):
                until_told(what, 7.4)
            raise DeviceError("that is all")

    monkeypatch.setattr(backends_select, "host", Compiler)
    name = tmp_path / "a.txt"
    name.write_bytes(b"a\nb\n")
    words = [command, *([] if command == "bench" else [str(name)])]
    for stream, options, lines in (
        (Terminal(), [], 2), (Terminal(), ["--quiet"], 0), (io.StringIO(), [], 0),
    ):  # fmt: skip
        monkeypatch.setattr(sys, "stderr", stream)
        assert door.invoke([*words, "--backend", "cpu", *options]) == 2
        told = stream.getvalue().splitlines()
        told = [line for line in told if "compiling" in line]
        assert len(told) == lines, told
        if lines:
            assert told[0] == "gpumerge: compiling one, about 7 s, once: the result is kept"


def test_stages_are_timed_without_compiling() -> None:
    watch = Stopwatch()
    watch.add(Span(COMPILE, 2.0, stopped=10.0))
    watch.add(Span("sort", 5.0, 100, stopped=12.0), Span("write", 1.0, 100, stopped=13.0))
    watch.add(Span("read", 1.0, 100, stopped=9.5))
    other = threading.Thread(target=lambda: watch.add(Span("sort", 5.0, 100, stopped=12.0)))
    other.start()
    other.join()
    assert watch.total(COMPILE).seconds == 2.0
    assert watch.total("sort").seconds == 3.0 + 5.0
    assert watch.total("write").seconds == watch.total("read").seconds == 1.0


def test_the_cost_model_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Costs().predict("cpu", "keys", 10**9, 2, 1, 3.0) == pytest.approx(
        Costs().predict("cpu", "keys", 10**9, 2) + 3.0
    )
    assert Costs().predict("cpu", "keys", 0, 2, 3, 3.0) == pytest.approx(Costs().predict("cpu", "keys", 0, 2, 3) + 1.0)
    monkeypatch.setattr(costs, "load_costs", Costs)
    monkeypatch.setattr(presence, "is_present", lambda: True)
    monkeypatch.setattr(backends_select, "compile_seconds", lambda: 1000.0)
    keys = Order.of("int32")
    chosen = select("auto", 0, keys, 10**10)
    assert (chosen.backend.name, chosen.compiling) == ("cpu", 0.0)
    assert "compile" not in chosen.why
    monkeypatch.setattr(backends_select, "compile_seconds", lambda: 0.25)
    monkeypatch.setattr(gpu, "create", lambda device: backends_select.host())
    chosen = select("auto", 0, keys, 10**11)
    assert chosen.compiling == 0.25
    assert ", 250 ms of them to compile, once, for 100 GB by the cost model" in chosen.why
    assert select("gpu", 0, keys, 10**3).compiling == 0.25


def test_kernels_that_are_kept_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compile_seconds() > 0
    (tmp_path / "gpumerge" / "kernels").mkdir(parents=True)
    (tmp_path / "gpumerge" / "kernels" / "x.cubin").write_bytes(b"")
    assert compile_seconds() == 0


def test_kernels_are_compiled_once_and_then_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVRTC needs no GPU, and no process that finds its kernels in the cache needs NVRTC."""
    cupy = needs.library("cupy")
    from gpumerge_cli.backends.gpu import compiled

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cupy.cuda.runtime, "runtimeGetVersion", lambda: 13000)
    compiled._begun.cache_clear()
    code = compiled.image("check.cu", compiler_options(comparison_macros(Order.of("int32"))), 90)
    assert code.startswith(b"\x7fELF")
    compiled._begun.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(cupy.cuda.nvrtc, "createProgram", None)
        assert compiled.image("check.cu", compiler_options(comparison_macros(Order.of("int32"))), 90) == code
    newer = compiled.image("check.cu", compiler_options(comparison_macros(Order.of("int32"))), 999)
    assert b".target sm_" in newer  # PTX, which the driver of a newer device compiles
    with pytest.raises(DeviceError, match="does not compile: "):
        compiled.image("check.cu", ("-DKEY_KIND=nonsense",), 90)
    compiled._begun.cache_clear()


def test_units_are_compiled_side_by_side_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.library("cupy")
    from gpumerge_cli.backends.gpu import compiled

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled.cupy.cuda.runtime, "runtimeGetVersion", lambda: 13000)
    files = ("check.cu", "hold.cu", "partition.cu")
    all_here = threading.Barrier(len(files))
    compiling_now: list[str] = []

    def compile_(file: str, *rest: object) -> bytes:
        compiling_now.append(file)
        all_here.wait(LONG)
        return file.encode()

    monkeypatch.setattr(compiled, "_compiled", compile_)
    compiled._begun.cache_clear()
    begun = [compiled.begin_compiling(file, (), 90) for file in (*files, *files)]
    assert [code.result(LONG) for code in begun] == [file.encode() for file in (*files, *files)]
    assert [compiled.image(file, (), 90) for file in files] == [file.encode() for file in files]
    assert sorted(compiling_now) == sorted(files)
    compiled._begun.cache_clear()


WATCHED = """
import sys
from gpumerge_cli.backends.gpu.early import make_contexts
make_contexts([0])
import cupy
create = cupy.cuda.nvrtc.createProgram
def creates(source, name, *rest):
    sys.stdout.write(f"compiled {name}\\n")  # at once, as threads compile beside each other
    return create(source, name, *rest)
cupy.cuda.nvrtc.createProgram = creates
from gpumerge_cli.cli.app import invoke
sys.exit(invoke(sys.argv[1:]))
"""


@pytest.mark.gpu
@pytest.mark.parametrize("command", [["sort", "-m"], ["sort", "-n"], ["merge"], ["check"]], ids=" ".join)
def test_lines_need_no_kernels_of_cupy_and_later_processes_no_compiler(
    command: list[str], gpu_backend: Backend, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(b"1\n2\n")
    (tmp_path / "b.txt").write_bytes(b"1\n3\n")
    names = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    out = [] if command == ["check"] else ["-o", str(tmp_path / "o.txt")]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "own"), "CUPY_CACHE_DIR": str(tmp_path / "cupy")}
    compiled = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, *command, *names, "--backend", "gpu", *out],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        compiled.append({line.split()[1] for line in done.stdout.splitlines() if line.startswith("compiled ")})
    own = {path.name for path in (kernel_directory() / "gpu").iterdir()}
    assert compiled[0]
    assert compiled[0] <= own
    assert compiled[1] == set()


def test_reports_have_a_stage_for_it(impatient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Compiler(ReferenceBackend):
        name = "cpu"

        def workspace(self, *arguments, **more):  # type: ignore[no-untyped-def]
            until_told("a workspace")
            return super().workspace(*arguments, **more)

    monkeypatch.setattr(backends_select, "host", Compiler)
    (tmp_path / "a.txt").write_bytes(b"a\nb\n")
    names, out, on = (str(tmp_path / "a.txt"),), str(tmp_path / "o.txt"), Resources("cpu")
    merged = run(merge_job(names, out, resources=on))
    sorted_ = run(sort_job(names, out, resources=on))
    for report in (merged, sorted_):
        assert report.stage(COMPILE).seconds > 0
        assert any(stretch.stage == COMPILE for stretch in report.timeline)


@pytest.mark.parametrize("name", ["a.csv", "a.txt.gz", "a.csv.gz"])
def test_what_goes_ahead_of_the_work_is_progress_too(name: str, tmp_path: Path) -> None:
    if name.endswith(".gz"):
        needs.library("isal.igzip")
    draw = random.Random(7)  # what compresses well is read at once
    rows = b"".join(b"%07d,%s\n" % (number, draw.randbytes(50).hex().encode()) for number in range(30_000))
    rows = b'"!\n#"\n' + rows  # without them, records of CSV are read as they stand
    (tmp_path / name).write_bytes(gzip.compress(rows, 1) if name.endswith(".gz") else rows)
    names, out, on = (str(tmp_path / name),), str(tmp_path / "o"), Resources("cpu")
    items = Items("csv" if ".csv" in name else "text")
    told: list[float] = []

    def advance(done: int, total: int) -> None:
        told.append(done / total)

    for sorting in (False, True):
        told.clear()
        if sorting:
            run(sort_job(names, out, items, on), advance=advance)
        else:
            run(merge_job(names, out, items, on), advance=advance)
        assert told == sorted(told)
        assert told[-1] == 1.0
        ahead = [share for share in told if share <= 0.5]
        assert len(ahead) >= 3
        assert ahead[0] < 0.4
