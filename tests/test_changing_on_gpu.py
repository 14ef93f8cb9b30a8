"""A device's data that another stream changes meanwhile may give any result, but no kernel leaves its arrays."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from gpumerge_cli.backends.base import Backend
from tests.cpu.libraries import ROOT

pytestmark = pytest.mark.gpu


def _survives(*ahead: str) -> None:
    command = [*ahead, sys.executable, "-m", "tests.changing_on_gpu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_public_calls_keep_their_guards(gpu_backend: Backend) -> None:
    _survives()


@pytest.mark.thorough
def test_public_calls_stay_in_their_arrays(gpu_backend: Backend) -> None:
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        pytest.skip("needs compute-sanitizer; install the CUDA toolkit")
    _survives(tool, "--tool", "memcheck", "--error-exitcode", "9", "--print-limit", "20")
