"""CCCL's algorithms as baselines: the compiler and the headers are found, or one line says what is missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.kinds import KeyOrder, Order
from tests import needs

cccl = pytest.importorskip("gpumerge_cli.backends.gpu.cccl", reason=needs.reason("cupy"), exc_type=ImportError)
INT = Order.of("int32")
COMPILER = """#!/bin/sh
case "$*" in
*-E*) printf '# 1 "x.cuh"\\nint found_before;\\n\\nfound\\n# 2 "probe.cu"\\n  3006000 13\\n 2\\n' ;;
*) while [ "$1" != -o ]; do shift; done; echo compiled >> {log}; echo library > "$2" ;;
esac
"""


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The cache is empty, no headers are named, and nothing is remembered from or for other tests."""
    monkeypatch.delenv(cccl.HEADERS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cccl.installed.cache_clear()
    yield
    cccl.installed.cache_clear()


@pytest.fixture
def nvcc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a program that stands for nvcc."""

    def made(text: str) -> Path:
        path = tmp_path / "nvcc"
        path.write_text(text.replace("{log}", str(tmp_path / "log")))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(cccl.cupy.cuda, "get_nvcc_path", lambda: str(path))
        return path

    return made


def header(folder: Path, wheel: str) -> str:
    (folder / wheel / "cub").mkdir(parents=True)
    (folder / wheel / "cub" / "version.cuh").touch()
    return os.path.join(folder, wheel)


def test_headers_are_those_named_then_the_newest_wheels(tmp_path: Path) -> None:
    packages = [str(tmp_path / "empty"), str(tmp_path / "a"), str(tmp_path / "b")]
    assert cccl.headers_folder("", packages) == ""
    older = header(tmp_path / "a", "nvidia/cu13/include/cccl")
    assert cccl.headers_folder("", packages) == older
    newer = header(tmp_path / "b", "cuda/cccl/headers/include")
    assert cccl.headers_folder("", packages) == newer
    assert cccl.headers_folder("/named", packages) == "/named"


@pytest.mark.parametrize(
    ("order", "name"),
    [
        (KeyOrder("int", 1), "std::int8_t"),
        (KeyOrder("uint", 8), "std::uint64_t"),
        (KeyOrder("float", 2), "__half"),
        (KeyOrder("float", 4), "float"),
        (KeyOrder("float", 8), "double"),
    ],
)
def test_types_of_keys(order: KeyOrder, name: str) -> None:
    assert cccl.key_type(order) == name


def test_options_name_the_device_the_keys_and_the_payload() -> None:
    found = cccl.options(Order.of("int64", descending=True), 4, 90)
    assert {"-arch=sm_90", "-DANCHOR_KEY=std::int64_t", "-DANCHOR_DESCENDING=1", "-DANCHOR_PAYLOAD=4"} <= set(found)


def test_versions_are_read_from_the_headers(nvcc: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = nvcc(COMPILER)
    monkeypatch.setenv(cccl.HEADERS, "/headers")
    assert cccl.installed() == cccl.Cccl((str(path),), "/headers", "3.6.0", "13.2")


def test_it_is_compiled_once(nvcc: Callable[[str], Path], tmp_path: Path) -> None:
    nvcc(COMPILER)
    made = cccl.compiled("baseline_cccl_merge.cu", INT, 0, 90)
    assert made.read_text() == "library\n"
    assert made.is_relative_to(tmp_path / "cache")
    assert cccl.compiled("baseline_cccl_merge.cu", INT, 0, 90) == made
    others = {
        cccl.compiled(*one)
        for one in (
            ("baseline_cccl_sort.cu", INT, 0, 90),
            ("baseline_cccl_merge.cu", Order.of("int64"), 0, 90),
            ("baseline_cccl_merge.cu", INT, 4, 90),
            ("baseline_cccl_merge.cu", INT, 0, 80),
        )
    }
    assert len(others | {made}) == 5
    assert (tmp_path / "log").read_text() == "compiled\n" * 5


def test_without_nvcc_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.backends.gpu import baselines

    monkeypatch.setattr(cccl.cupy.cuda, "get_nvcc_path", lambda: None)
    monkeypatch.setattr(cccl.shutil, "which", lambda name: None)
    assert baselines.versions() == {
        "CCCL": "left out: there is no nvcc to compile it; install CUDA's compiler, or name it in the variable NVCC"
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "#!/bin/sh\necho 'x.cu:1:10: fatal error: cub/version.cuh: No such file' >&2; exit 1\n",
            r"nvcc finds no headers of it \(x.cu:1:10: fatal error: cub/version.cuh: No such file\); pip install cuda-",
        ),
        ("#!/bin/sh\necho found CCCL_VERSION 13 0\n", r"no headers of it \(it does not say why\)"),
        ("#!/no/such/shell\n", "nvcc does not run: No such file"),
    ],
)
def test_without_headers_one_line_says_how_to_get_them(nvcc: Callable[[str], Path], text: str, words: str) -> None:
    nvcc(text)
    with pytest.raises(DeviceError, match=words):
        cccl.installed()


def test_a_failed_compilation_is_told_in_one_line(nvcc: Callable[[str], Path]) -> None:
    nvcc(COMPILER.replace("echo compiled >> {log}", "echo 'y.cu(3): error: no' >&2; exit 2"))
    with pytest.raises(DeviceError, match=r"nvcc does not compile CCCL 3.6.0: y.cu\(3\): error: no$"):
        cccl.compiled("baseline_cccl_merge.cu", INT, 0, 90)


def test_code_that_cannot_be_loaded_is_told(nvcc: Callable[[str], Path]) -> None:
    nvcc(COMPILER)
    with pytest.raises(DeviceError, match="cannot be loaded"):
        cccl._library("baseline_cccl_merge.cu", Order.of("uint16"), 0, 90)


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["baseline_cccl_merge.cu", "baseline_cccl_sort.cu"])
@pytest.mark.parametrize(
    ("order", "payload"), [(KeyOrder("int", 4), 0), (KeyOrder("float", 2, True), 0), (KeyOrder("float", 8), 4)]
)
def test_nvcc_compiles_it(file: str, order: KeyOrder, payload: int) -> None:
    try:
        cccl.installed()
    except DeviceError as error:
        pytest.skip(str(error))
    library = cccl._library(file, order, payload, 90)
    assert library.cccl_error(0) == b"no error"
