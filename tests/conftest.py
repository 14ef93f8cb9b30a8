"""Fixtures shared by all tests: the backends of this machine, reproducible randomness, small files."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.errors import DeviceError
from tests.engine.fake_workers import mark_shared_cases
from tests.locales import made as make_locales
from tests.seeds import given_or_random_seed
from tests.usual import mark_other_cases

# Without bytecode that is kept, each command that a test starts would compile the package again: 0.12 s of 0.2 s.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A failing example prints how to run it again; a first call compiles, so there is no deadline. With any given seed,
# each run has the same examples.
settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("GPUMERGE_TEST_SEED")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("default")


_LONGEST = (
    "test_kernels_on_cpu.py",
    "test_sanitized.py",
    "test_unsorted_on_cpu.py",
    "test_over_workers.py",
    "test_huge_lines.py",
    "test_kernels_compile.py",
    "test_sets_compile.py",
    "test_sorts_compile.py",
    "test_docs.py",
    "test_wheel.py",
    "test_uses.py",
    "test_fuzz.py",
    "test_people.py",
)
"""Files of tests that take longest, or long and would be last: they begin first, so that no worker ends with one."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of tests in the order in which workers take them. Crews of workers share the cases of a test."""
    mark_shared_cases(items)
    mark_other_cases(items)
    items.sort(key=lambda item: item.path.name not in _LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Its objects live as long as all tests do: each search for garbage would take 0.3 s to walk through them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: many tests wait for other processes, for disks, or for a time to pass."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.fixture(autouse=True, scope="session")
def _default_signals() -> None:
    """Signals that whoever started the tests ignores, as nohup and shells without job control do, act in children.

    A child inherits that a signal is ignored, but no handler. The tests themselves still go on.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGXCPU):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


@pytest.fixture(autouse=True, scope="session")
def _no_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Settings of this machine's user must not change the tests."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.getbasetemp() / "no-configuration")
    for name in [
        name
        for name in os.environ
        if name.startswith("GPUMERGE_") and not name.startswith(("GPUMERGE_TEST_", "GPUMERGE_CPU_LEVEL"))
    ]:
        del os.environ[name]


@pytest.fixture(scope="session")
def _made_locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # localedef takes seconds, so all workers share its files
        folder = folder.parent
    with open(folder / "locales.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_locales(folder / "locales")


@pytest.fixture
def locales(_made_locales: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder of the locales of tests.locales, which LOCPATH names."""
    monkeypatch.setenv("LOCPATH", str(_made_locales))
    return str(_made_locales)


@lru_cache(maxsize=1)
def _gpu() -> Backend | str:
    try:
        return gpu.create()
    except DeviceError as error:
        return str(error)


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that the machine has; the GPU's is skipped, with its reason, where there is none."""
    if request.param == "cpu":
        return backends_select.host()
    return request.getfixturevalue("gpu_backend")  # type: ignore[no-any-return]


@pytest.fixture
def gpu_backend() -> Backend:
    """The GPU's; skipped, with its reason, where there is none."""
    found = _gpu()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def two_gpus(gpu_backend: Backend) -> None:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two GPUs; run it on a machine with them")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A seed of random numbers. It is printed with a failing test, and GPUMERGE_TEST_SEED sets it."""
    drawn = given_or_random_seed()
    print(f"GPUMERGE_TEST_SEED={drawn} repeats {request.node.name}")
    return drawn


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """The rounds of a random test: more of them in a thorough case."""
    return 6 if request.node.get_closest_marker("thorough") else 2


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Random numbers by the test's seed."""
    return np.random.default_rng(seed)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of many chunks for small files."""
    monkeypatch.setattr(engine_local, "chunk_bytes_for", lambda *arguments: 4096)
    monkeypatch.setattr(
        engine_local, "budget_of", lambda work, backend, policy, threads, *_: ChunkBudget(threads or 3, 4096)
    )


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], str]:
    """write(name, array or bytes) makes a file in the test's folder and returns its path."""

    def make(name: str, content: Any) -> str:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".npy":
            np.save(path, content)
        else:
            content.tofile(path)
        return str(path)

    return make
