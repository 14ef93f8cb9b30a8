"""The line that says where and with what a result was measured. The scripts that measure on a GPU begin with it.

python data/bench/measured_on.py FOLDER/bench-dtypes.json    # says it in FOLDER/measured.txt
python data/bench/measured_on.py --commit                    # prints the commit

The program's own reports, as those of gpumerge bench, do not know the commit. measured.txt has a line for each of them.
"""

from __future__ import annotations

import argparse
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
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def measured_on() -> str:
    """The device, the versions of all that runs on it, and the commit. Raises DeviceError without a GPU."""
    from gpumerge_cli.backends.gpu import access as gpu

    backend = gpu.create()
    info = backend.info()
    versions = {name: info.details[name] for name in ("CUDA driver", "NVRTC", "CuPy")} | backend.versions()
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{info.name}, {named}, Python {platform.python_version()}; commit {commit()}"


def note(result: Path) -> None:
    """Say it of a result in measured.txt beside it, in place of what is said there of an older one."""
    notes, named = result.with_name("measured.txt"), f"{result.name}: "
    lines = notes.read_text().splitlines() if notes.exists() else []
    lines = [line for line in lines if not line.startswith(named)]
    notes.write_text("".join(f"{line}\n" for line in sorted([*lines, named + measured_on()])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=Path, help="files that were measured just now")
    parser.add_argument("--commit", action="store_true", help="print the commit of the code")
    wish = parser.parse_args()
    if wish.commit:
        print(commit())
    for result in wish.results:
        note(result)


if __name__ == "__main__":
    main()
