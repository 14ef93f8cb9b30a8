"""The line that says where and with what a result was measured. The scripts that measure on a GPU begin with it."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def commit() -> str:
    """The commit of the code, which MEASURED_COMMIT names where there is no repository; else "unknown"."""
    if named := os.environ.get("MEASURED_COMMIT"):
        return named
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return said.stdout.strip() or "unknown"


def measured_on() -> str:
    """The device, the versions of all that runs on it, and the commit. Raises DeviceError without a GPU."""
    from gpumerge_cli.backends import gpu

    backend = gpu.create()
    info = backend.info()
    versions = {name: info.details[name] for name in ("CUDA driver", "NVRTC", "CuPy")} | backend.versions()
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{info.name}, {named}, Python {platform.python_version()}; commit {commit()}"
