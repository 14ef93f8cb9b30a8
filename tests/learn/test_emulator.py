"""Faults that a reader's kernel may have: each ends in a sentence, and none ends or stops the program."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn import compilers, on_cpu
from gpumerge_cli.learn.checking import check_puzzle
from gpumerge_cli.learn.line_numbers import line_of
from gpumerge_cli.learn.on_cpu import Emulator, emulated
from gpumerge_cli.learn.puzzles import puzzles
from gpumerge_cli.results.puzzles import Verdict

HEAD = 'extern "C" __global__ void basic(const int* A, int m, const int* B, int n, int* C)\n{\n'


def check(emulator: Emulator, body: str, name: str = "basic") -> Verdict:
    return check_puzzle(puzzles()[name], f"{HEAD}{body}\n}}\n", "basic.cu", [emulator], seed=1)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("    C[m + n] = 1;", "thread 0 of block 0 writes C[8] (basic.cu:3), but C has 8 items"),
        ("    C[0] = A[-1];", "thread 0 of block 0 reads A[-1] (basic.cu:3), but A has 4 items"),
        ("    C[0] = A[-2000];", "thread 0 of block 0 reads A[-2000] (basic.cu:3), but A has 4 items"),
        ("    C[0] = A[100000000];", "thread 0 of block 0 reads memory outside of every array (basic.cu:3)"),
        ("    int* nowhere = nullptr;\n    *nowhere = 1;", "writes memory outside of every array (basic.cu:4)"),
        ("    C[0] = 7;", "a race: thread 0 writes C[0] (basic.cu:3), thread 1 writes it (basic.cu:3), and no barrier"),
        (
            "    if (blockIdx.x == 0 && threadIdx.x == 0) C[0] = 1;\n    if (blockIdx.x == 1) C[0] = 1;",
            "a race: thread 0 of block 0 writes C[0] (basic.cu:3), thread 0 of block 1 writes it (basic.cu:4), and "
            "blocks wait for nobody",
        ),
        (
            "    __shared__ int last, all[4];\n    all[threadIdx.x] = 1;\n    last = all[threadIdx.x ^ 1];",
            "a race: thread 0 reads all[1] (basic.cu:5), thread 1 writes it (basic.cu:4), and no barrier",
        ),
        (
            "    __shared__ int all[4];\n    C[threadIdx.x] = all[3];\n    __syncthreads();\n    all[3] = 1;",
            "thread 0 of block 0 reads all[3] (basic.cu:4), which nobody has written",
        ),
        (
            "    __shared__ int all[4];\n    C[all[2]] = 1;",
            "thread 0 of block 0 reads all[2] (basic.cu:4), which nobody has written",
        ),
        (
            "    __shared__ int all[4];\n    all[threadIdx.x] = 1;\n    if (threadIdx.x) C[0] = all[0];",
            "a race: thread 0 writes all[0] (basic.cu:4), thread 1 reads it (basic.cu:5), and no barrier",
        ),
        ("    __shared__ int all[2];\n    all[4] = 1;", "writes all[4] (basic.cu:4), but all has 2 items"),
        (
            "    if (threadIdx.x == 0) return;\n    __syncthreads();",
            "thread 1 of block 0 waits at a barrier that thread 0 never reaches: it has ended",
        ),
        ("    for (;;) {}", "thread 0 of block 0 does not come to an end"),
        ("    if (threadIdx.x == 1) while (C[0] = 1) {}", "thread 1 of block 0 does not come to an end"),
        ("    C[0] = A[0] / (m - m);", "thread 0 of block 0 crashes (SIGFPE)"),
        ("    basic(A, m, B, n, C);", "thread 0 of block 0 crashes (SIGSEGV)"),
        ("    __builtin_exit(0);", "crashes (its process ends with 0 before the case is done)"),
        ("    __builtin_trap();", "thread 0 of block 0 crashes (SIG"),
    ],
)
def test_faults(emulator: Emulator, body: str, problem: str) -> None:
    began = time.monotonic()
    found = check(emulator, body)
    assert found.state == "wrong"
    assert problem in found.problem
    assert found.lesson or "outside" in problem or "reads" in problem or "writes" in problem or "crashes" in problem
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "body",
    [
        "    __shared__ int count;\n    if (threadIdx.x == 0) count = 0;\n    __syncthreads();\n"
        "    atomicAdd(&count, 1);\n    __syncthreads();\n    if (count != 2) C[99] = 1;",
        "    __shared__ int* pointer;\n    __shared__ __align__(16) int all[4];\n    all[threadIdx.x] = 1;\n"
        "    __shared__ volatile int flags[2];\n    flags[threadIdx.x] = all[threadIdx.x];",
        "    __shared__ int all[32];\n    all[threadIdx.x] = 1;\n    __syncwarp();\n"
        "    if (blockIdx.x == 0) C[threadIdx.x] = all[0];",
        "    __shared__ int all[32];\n    all[threadIdx.x] = 1;\n    __syncthreads();\n    all[threadIdx.x ^ 1] = 2;",
        "    /* __shared__ int a[1]; */ // for (;;)\n    extern __shared__ int none[];\n"
        "    const int two[2] = {1, 2};\n"
        "    if (threadIdx.x + blockIdx.x == 0) C[0] = two[m > 1];",
    ],
)
def test_no_fault_is_seen_where_there_is_none(emulator: Emulator, body: str) -> None:
    puzzle = puzzles()["basic"]
    text = f"{HEAD}{body}\n}}\n"
    done = emulator.run(text, "basic.cu", puzzle.task, puzzle.task.cases()[:1])
    assert (done.fault, done.compiler) == (None, "")


def test_a_kernel_prints_a_little(emulator: Emulator, capfd: pytest.CaptureFixture[str]) -> None:
    check(emulator, '    for (int i = 0; i < 20000; ++i) printf("line %d\\n", i);')
    printed = capfd.readouterr().err
    assert "line 0\nline 1\n" in printed
    assert len(printed) < 70_000
    assert "(the kernel prints more)" in printed


def test_errors_of_the_compiler_name_the_readers_line(emulator: Emulator) -> None:
    found = check(emulator, "    C[0] = nothing;")
    assert found.state == "not compiled"
    assert "basic.cu:3:" in found.compiler
    assert "gpumerge-learn" not in found.compiler


def test_lines_keep_their_numbers() -> None:
    text = 'a /* 1\n2 */ __shared__ int x[2],\n y; // "\nextern __shared__ float z[];\n"//"\n'
    found = emulated(text)
    assert found.count("\n") == text.count("\n")
    assert [line for line in found.splitlines() if '"//"' in line]
    assert 'shared_array("x", sizeof(int[2]), sizeof(int))' in found
    assert 'shared_array("y", sizeof(int), sizeof(int))' in found
    assert 'float* z = (float*)emulator::dynamic_shared("z", sizeof(float));' in found


def test_a_program_without_lines_has_none() -> None:
    assert [line_of(data, 0, "a.cu") for data in (b"", b"\x7fELF", bytes(200), Path("/bin/sh").read_bytes())] == [0] * 4


def test_the_folder_is_removed() -> None:
    with Emulator() as made:
        place = Path(made._folder.name)
        assert place.is_dir()
        assert place.stat().st_mode & 0o77 == 0
    assert not place.exists()


def test_without_a_compiler_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", ":.:bin")
    monkeypatch.setattr(compilers, "find_spec", lambda name: None)
    with pytest.raises(DeviceError, match=r"no C\+\+ compiler was found.*; pip install ziglang, or install g\+\+"):
        Emulator()


def test_a_compiler_of_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "g++").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", ".")
    monkeypatch.setattr(compilers, "find_spec", lambda name: None)
    with pytest.raises(DeviceError):
        Emulator()


def test_a_compiler_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/bin/false")
    with Emulator() as made, pytest.raises(DeviceError, match=r"/bin/false does not compile the emulator.*set CXX"):
        check(made, "")
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with Emulator() as made, pytest.raises(DeviceError, match="does not run"):
        check(made, "")


def test_a_program_that_hangs_is_ended(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.learn import processes

    monkeypatch.setattr(processes, "_WALL", 1.0)
    # A reader's code can switch off the emulator's own limit, but not the parent's.
    body = 'asm volatile("1: pause; jmp 1b");' if "x86" in _machine() else "for (;;) {}"
    block = "    unsigned long all[16] = {~0ul}; sigprocmask(0, all, nullptr);\n    " + body
    text = f'extern "C" int sigprocmask(int, const void*, void*);\n{HEAD}{block}\n}}\n'
    found = check_puzzle(puzzles()["basic"], text, "basic.cu", [emulator], seed=1)
    assert "does not come to an end" in found.problem


def _machine() -> str:
    return subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout


@pytest.mark.thorough
def test_with_ziglang() -> None:
    pytest.importorskip("ziglang", reason="needs ziglang; pip install ziglang")
    with Emulator(compilers.zig_compiler()) as made:
        for name in ("tiled", "bug_cuts"):
            puzzle = puzzles()[name]
            assert check_puzzle(puzzle, puzzle.solution, name, [made], seed=1).state == "solved"
        found = check_puzzle(puzzle, puzzle.given, name, [made], seed=1)
    assert "thread 1 writes A_s[1] (bug_cuts.cu:" in found.problem


def test_the_runtime_compiles_without_warnings(tmp_path: Path) -> None:
    compiler = compilers.host_compiler()
    flags = [
        "-std=c++17",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-format-truncation",
        "-fno-exceptions",
        "-fno-rtti",
        "-c",
    ]
    made = [*compiler.command, *compiler.flags, *flags, str(on_cpu.EMULATOR / "runtime.cpp"), "-o", str(tmp_path / "o")]
    assert subprocess.run(made, capture_output=True, text=True, check=False).stderr == ""
