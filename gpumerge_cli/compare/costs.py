"""The cost model's constants, measured: whole merges of generated files, in processes of their own, from page cache."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpumerge_cli.compare.write_speed import MAPPED, RESERVED, writing_seconds
from gpumerge_cli.costs import BACKENDS, Costs
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.formats.output_file import FORCED

# Items of each of two files: enough for a steady rate, few enough for patience.
_COUNTS = {
    ("cpu", "keys"): 50_000_000,
    ("cpu", "lines"): 8_000_000,
    ("gpu", "keys"): 200_000_000,
    ("gpu", "lines"): 16_000_000,
}
_REPEAT = 3
_WRITTEN = 2 << 30  # bytes
_START = (  # with -m, Python would take the current folder's modules for its own
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from gpumerge_cli.__main__ import main; main()"
)


def measure_costs(
    backends: tuple[str, ...],
    device: str,
    folder: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Costs:
    """Measure the costs of this machine. Backends that are not named keep the built-in costs.

    device: a name for the machine's devices. folder: the place of the files, on the storage to measure; it needs 4 GB.
    progress: called with a line before each step. Raises GpumergeError if a merge fails.
    """
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="gpumerge-measure-", dir=folder) as work:
        for (backend, items), count in _COUNTS.items():
            if backend in backends:
                progress(f"{backend}: {items}, 2 x {count:,}")
                found |= _measured(Path(work), backend, items, count)
        progress(f"writing, {_WRITTEN / 1e9:.1f} GB")
        found |= _writing(Path(work))
    source = f"measured: {platform.node()}, {cores()} cores, {device}"
    built_in = [backend for backend in BACKENDS if backend not in backends]
    source += f"; {', '.join(built_in)} built in" if built_in else ""
    return replace(Costs(), **found, source=source)


def _measured(work: Path, backend: str, items: str, count: int) -> dict[str, float]:
    suffix = ".i32" if items == "keys" else ".txt"
    inputs = [str(work / f"{name}{suffix}") for name in "ab"]
    output, report = str(work / f"out{suffix}"), work / "report.json"
    options = [] if items == "keys" else ["-n"]
    _gpumerge("generate", *inputs, "--count", str(count), "--seed", "1", *options)
    reports: list[dict[str, Any]] = []
    for _ in range(_REPEAT + 1):
        _gpumerge("merge", *inputs, "-o", output, "-q", "--backend", backend, "--report", str(report), *options)
        reports.append(json.loads(report.read_text(encoding="utf-8")))
        Path(output).unlink()
    for name in inputs:
        Path(name).unlink()
    # The first run fills caches: compiled code, the inputs' pages.
    best = min(reports[1:], key=lambda one: float(one["busy"]))
    stages = {stage["name"]: float(stage["seconds"]) for stage in best["stages"]}
    nbytes, workers, busy = int(best["nbytes"]), int(best["workers"]), float(best["busy"])
    merging = sum(stages.get(name, 0.0) for name in ("index", "check", "kernel"))
    found = {
        f"{backend}_{items}": nbytes / merging,
        f"{backend}_start_up": min(float(one["start_up"]) for one in reports[1:]),
    }
    if backend == "gpu":
        found["link"] = 2 * nbytes / (stages["upload"] + stages["download"])
    if items == "keys":
        # A GPU merges at the same time.
        found["storage"] = nbytes / (
            busy if backend == "gpu" else max(busy - merging / min(workers, cores()), busy / 10)
        )
    return found


def _writing(work: Path) -> dict[str, float]:
    """The best of a few runs: by calls, which take turns, from two threads; through a mapping from all cores."""

    def rate(way: str, threads: int) -> float:
        return _WRITTEN / min(writing_seconds(work / "written", way, threads, _WRITTEN) for _ in range(_REPEAT))

    return {"written": rate(RESERVED, min(2, cores())), "mapped": rate(MAPPED, cores()) / cores()}


def _gpumerge(*words: str) -> None:
    # Stages are distinguished only where merging does not write.
    environment = os.environ | {FORCED: "0"}
    command = [sys.executable, "-P", "-c", _START, str(Path(__file__).parents[2]), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise GpumergeError(f"measuring failed: {done.stderr.strip().removeprefix('gpumerge: ')}")
