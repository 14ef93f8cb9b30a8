"""NVRTC compiles every puzzle; on a GPU, the answers solve them, and printed bugs are wrong there, too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gpumerge_cli.backends.gpu import loose_kernel
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn.checking import check_puzzle
from gpumerge_cli.learn.on_gpu import GpuRunner, with_given
from gpumerge_cli.learn.processes import run_cases
from gpumerge_cli.learn.puzzles import FILES, puzzles
from tests import needs

SOLVED = [
    name if name in ("tiled", "circular", "sequential") else pytest.param(name, marks=pytest.mark.thorough)
    for name in puzzles()
]


def compile_text(text: str) -> str:
    """NVRTC's errors for a text, "" if there are none."""
    nvrtc = needs.library("cupy").cuda.nvrtc
    try:
        known = nvrtc.getSupportedArchs()
    except RuntimeError as error:
        pytest.skip(needs.nvrtc(error))
    program = nvrtc.createProgram(text, "puzzle.cu", (), ())
    try:
        nvrtc.compileProgram(program, (*loose_kernel.OPTIONS, f"-arch=sm_{min(known)}"))
    except nvrtc.NVRTCError:
        return str(nvrtc.getProgramLog(program))
    return ""


@pytest.mark.parametrize("name", SOLVED)
def test_nvrtc_compiles_the_answer(name: str) -> None:
    puzzle = puzzles()[name]
    assert compile_text(with_given(puzzle.solution, puzzle.file)) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in puzzles() if name.startswith("bug_")])
def test_nvrtc_compiles_the_bug(name: str) -> None:
    puzzle = puzzles()[name]
    assert compile_text(with_given(puzzle.given, puzzle.file)) == ""


def test_errors_of_nvrtc_name_the_readers_line() -> None:
    text = puzzles()["basic"].solution.replace("merge_sequential(", "merge_sequentially(", 1)
    text = puzzles()["basic"].solution.replace("    merge_sequential(A", "    merge_sequentially(A")
    line = text[: text.index("merge_sequentially")].count("\n") + 1
    assert re.search(rf"basic\.cu\({line}\): error", compile_text(with_given(text, "basic.cu")))


def test_the_given_header_stands_in_for_its_include() -> None:
    text = with_given('a\n#include "given.cuh"\nb\n', "x.cu")
    assert text.startswith('#line 1 "x.cu"\na\n#line 1 "given.cuh"\n')
    assert text.endswith('#line 2 "x.cu"\n\nb\n')
    assert "#pragma" not in text
    assert "co_rank" in text
    assert '"given.cuh"' not in (FILES / "k_way.cu").read_text()


def test_a_gpu_that_fails_is_told(tmp_path: Path) -> None:
    task = puzzles()["basic"].task
    words = [sys.executable, "-P", loose_kernel.__file__, str(tmp_path / "none.cu"), "basic", "0", "99"]
    done = run_cases(words, tmp_path, task, task.cases(), 1)
    assert done.outputs == ()
    assert done.fault is not None
    assert done.fault.kind == "device"
    assert done.fault.text


@pytest.fixture(scope="module")
def runner() -> GpuRunner:
    try:
        return GpuRunner()
    except DeviceError as error:
        pytest.skip(f"needs an NVIDIA GPU and CuPy; pip install 'gpumerge[cuda13]' ({error})")


@pytest.mark.gpu
@pytest.mark.parametrize("name", puzzles())
def test_answers_on_the_gpu(runner: GpuRunner, name: str) -> None:
    puzzle = puzzles()[name]
    found = check_puzzle(puzzle, puzzle.solution, name, [runner], seed=1)
    assert (found.state, found.problem, found.compiler) == ("solved", "", "")


@pytest.mark.gpu
@pytest.mark.parametrize("bug", [name for name in puzzles() if name.startswith("bug_")])
def test_bugs_on_the_gpu(runner: GpuRunner, bug: str) -> None:
    puzzle = puzzles()[bug]
    found = check_puzzle(puzzle, puzzle.given, bug, [runner], seed=1)
    assert found.state == "wrong"
    assert found.lesson


@pytest.mark.gpu
def test_faults_on_the_gpu(runner: GpuRunner) -> None:
    puzzle = puzzles()["basic"]
    outside = puzzle.solution.replace("    // END", "").rstrip().removesuffix("}") + "    C[m + n] = 1;\n}\n"
    found = check_puzzle(puzzle, outside, "basic", [runner], seed=1)
    assert "something is written outside of C" in found.problem
    far = puzzle.solution.rstrip().removesuffix("}") + "    C[1LL << 40] = 1;\n}\n"
    assert "the GPU reports: " in check_puzzle(puzzle, far, "basic", [runner], seed=1).problem
    error = check_puzzle(puzzle, puzzle.solution.replace("int threads", "nothing threads"), "basic", [runner], seed=1)
    assert error.state == "not compiled"
    assert "basic.cu(" in error.compiler
    assert "/tmp" not in error.compiler
