"""Libraries and programs that some tests need. A test is skipped without them, and its reason says how to get them."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import pytest

_EXTRAS = {
    "axe_playwright_python": "browser",
    "botocore": "stores",
    "cupy": "cuda13",
    "distributed": "cluster",
    "isal": "compressed",
    "matplotlib": "plot",
    "obstore": "stores",
    "playwright": "browser",
    "pyarrow": "tables",
}
"""The extras of gpumerge that install these libraries."""
_PACKAGES = {
    "bgzip": "tabix",
    "comm": "coreutils",
    "localedef": "libc-bin",
    "pzstd": "zstd",
    "qemu-x86_64": "qemu-user",
    "setarch": "util-linux",
    "uniq": "coreutils",
}
"""Debian's packages of programs, where a package has another name."""
RESERVED_SPACE = "needs a file system that reserves space; set TMPDIR to a folder on ext4 or XFS"
"""The reason to skip a test whose output gets no room ahead."""


def reason(library: str) -> str:
    """The reason to skip what needs this Python library."""
    extra = _EXTRAS.get(library)
    return f"needs {library}; pip install '{f'gpumerge[{extra}]' if extra else library}'"


def library(name: str) -> Any:
    """This Python library, or module of one; skips the test without it."""
    return pytest.importorskip(name, reason=reason(name.partition(".")[0]), exc_type=ImportError)


def zstandard() -> Any:
    """Python's module zstd, or that of the extra; skips the test without it."""
    if sys.version_info >= (3, 14):
        name, way_out = "compression.zstd", "use a Python that was built with it"
    else:
        name, way_out = "backports.zstd", "pip install 'gpumerge[compressed]'"
    return pytest.importorskip(name, reason=f"needs Zstandard; {way_out}", exc_type=ImportError)


def module(name: str, *, over: str = "cupy") -> Any:
    """The module `name` of gpumerge_cli, which imports the library `over`; skips the test without that."""
    return pytest.importorskip(f"gpumerge_cli.{name}", reason=reason(over), exc_type=ImportError)


def program(name: str) -> str:
    """The path of a program; skips the test without it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}; install the system's package {_PACKAGES.get(name, name)}")
    return found


def nvrtc(error: Exception) -> str:
    """The reason to skip a test where CuPy cannot load NVRTC. error: what CuPy raised."""
    return f"needs NVRTC ({error}); pip install 'gpumerge[cuda13]'"


def runtime_of(sanitizers: str) -> str:
    """The reason to skip a test where g++ cannot link code for these sanitizers."""
    return f"needs g++'s runtime of -fsanitize={sanitizers}; install the libasan, libubsan and libtsan of its version"
