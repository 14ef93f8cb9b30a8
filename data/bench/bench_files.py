"""Time whole commands on files on the CPU, in turns with other programs: merges, sorts and start-up.

python data/bench/bench_files.py FOLDER [--out data/results/epyc/files] [--repeat 5] [--scale 1.0] [--only REGEX]

Writes OUT.md and OUT.json: medians and minima of wall and CPU seconds (user and system of all threads), and each over
the row that a case is compared with. Wants a machine that does nothing else; FOLDER needs 17 GB on the disk to measure.
Every case makes its inputs, runs each command once to warm up, holds outputs against each other, and then runs the
commands in turns, in another order every time, onto fresh outputs. Ahead of each run another process takes as much
memory as the run will and gives it back: a virtual machine's host may have taken free memory away, and finding it again
would be timed as the work of whoever comes first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from multiprocessing import Pool
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measure_files import cpu
from measure_sorts import DUCKDB, POLARS, records
from measure_text import CASES as TEXTS
from measure_text import make as make_text

SUFFIXES = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}
ROOT = Path(__file__).resolve().parents[2]
GPUMERGE = [sys.executable, "-m", "gpumerge_cli"]
TAKE = "import sys, numpy; numpy.ones(int(sys.argv[1]), numpy.uint8)"
NUMPY_SORT = """
import sys, numpy
keys = numpy.fromfile(sys.argv[1], sys.argv[3])
keys.sort()
keys.tofile(sys.argv[2])
"""
NUMPY_MERGE = """
import json, sys, time, numpy, gpumerge_cli
rngs = map(numpy.random.default_rng, (1, 2))
a, b = (numpy.sort(rng.integers(-2**31, 2**31, 1 << 25).astype(sys.argv[1])) for rng in rngs)
out = numpy.empty(len(a) + len(b), a.dtype)
took = []
for turn in range(7):
    start = time.perf_counter(), time.process_time()
    gpumerge_cli.merge(a, b, out=out, threads=1)
    took.append((time.perf_counter() - start[0], time.process_time() - start[1]))
print(json.dumps([out.nbytes, took[1:]]))
"""


@dataclass
class Case:
    """One piece of work.

    commands: the words of each command by its name; OUT stands for the output, COLD for a new folder. base: the name of
    the command by whose times the others are divided. room: the bytes that are taken ahead of each run, before scaling.
    same: all outputs must be alike. repeat: the number of turns, if not the usual one; 0: the first turn counts.
    """

    commands: dict[str, list[str]]
    base: str
    room: float
    same: bool = True
    repeat: int | None = None


class Bench:
    """Makes the inputs of all cases in a folder. scale: a factor for all sizes."""

    def __init__(self, folder: Path, scale: float) -> None:
        self.folder = folder
        self.scale = scale
        self.cores = len(os.sched_getaffinity(0))

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def keys(self, dtype: str, files: int, total: float, *, ordered: bool) -> list[str]:
        """Files of random keys, `total` bytes together."""
        kind = np.dtype(dtype)
        count = int(total * self.scale / kind.itemsize / files)
        names = [self.path(f"{dtype}-{number:03}-of-{files}.{SUFFIXES[dtype]}") for number in range(files)]
        for number, name in enumerate(names):
            rng = np.random.default_rng(number)
            if kind.kind == "f":
                keys = rng.random(count).astype(kind) * 2 - 1
            else:
                limits = np.iinfo(kind)
                keys = rng.integers(limits.min, limits.max, count, kind, endpoint=True)
            if ordered:
                keys.sort()
            keys.tofile(name)
        return names

    def texts(self, kind: str, total: float) -> list[str]:
        """Two files of random lines."""
        names = [self.path(f"lines-{number}") for number in range(2)]
        with Pool() as pool:
            sizes = int(total * self.scale / 2)
            pool.starmap(make_text, [(kind, Path(name), sizes, seed) for seed, name in enumerate(names)])
        return names

    def cases(self) -> dict[str, Callable[[], Case]]:
        """The function that makes each case, by its title."""
        found: dict[str, Callable[[], Case]] = {"merge 1 KB": self._start_up}
        for title, dtype, files in (("2 x 1 GB", "int32", 2), ("2 x 1 GB", "int64", 2), ("16 x 125 MB", "int32", 16)):
            found[f"merge {title} {dtype}"] = partial(self._merge_of_keys, dtype, files)
        found["merge 64 and 512 files of 1 GB in all"] = self._merge_of_many
        for kind, (options, title) in TEXTS.items():
            found[f"merge 2 x 0.5 GB, {title}"] = partial(self._merge_of_text, kind, options)
        for millions, dtype in ((100, "int32"), (50, "int64"), (50, "float64"), (100, "float32")):
            found[f"sort {millions} M {dtype}"] = partial(self._sort_of_keys, millions * 10**6, dtype)
        found["sort 1 GB of 100-byte records"] = self._sort_of_records
        for title, options in (("bytewise", []), ("-n", ["-n"])):
            found[f"sort 20 M lines, {title}"] = partial(self._sort_of_lines, options)
        found["sort 4 GB of log lines, -S 256M"] = self._sort_outside
        return found

    def _start_up(self) -> Case:
        names = self.keys("int32", 2, 1024 / self.scale, ordered=True)
        merge = [*GPUMERGE, "merge", "--dtype=int32", *names, "-o", "OUT"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python, importing NumPy": [sys.executable, "-c", "import numpy"],
            "gpumerge -q": [*merge, "-q"],
            "gpumerge, with its report": merge,
            "gpumerge -q, nothing cached": ["env", "XDG_CACHE_HOME=COLD", *merge, "-q"],
            "gpumerge --help": [*GPUMERGE, "--help"],
        }
        return Case(commands, "gpumerge -q", 0, same=False, repeat=20)

    def _merge_of_keys(self, dtype: str, files: int) -> Case:
        names = self.keys(dtype, files, 2e9, ordered=True)
        commands = {"cat": _cat(names), "gpumerge": [*GPUMERGE, "merge", "-q", "--dtype", dtype, *names, "-o", "OUT"]}
        return Case(commands, "cat", 2.2e9, same=False)

    def _merge_of_many(self) -> Case:
        commands = {}
        for files in (64, 512):
            names = self.keys("int32", files, 1e9, ordered=True)
            commands[f"cat {files} files"] = _cat(names)
            commands[f"gpumerge {files} files"] = [*GPUMERGE, "merge", "-q", "--dtype=int32", *names, "-o", "OUT"]
        return Case(commands, "gpumerge 64 files", 1.2e9, same=False)

    def _merge_of_text(self, kind: str, options: list[str]) -> Case:
        names = self.texts(kind, 1e9)
        for name in names:
            _run([*GPUMERGE, "sort", *options, name, "-o", name])
        return Case(self._beside_gnu([*options, "-m", *names]), "GNU sort", 1.2e9, repeat=3)

    def _sort_of_keys(self, count: int, dtype: str) -> Case:
        nbytes = count * np.dtype(dtype).itemsize
        (name,) = self.keys(dtype, 1, nbytes, ordered=False)
        commands = {
            "np.sort": [sys.executable, "-c", NUMPY_SORT, name, "OUT", dtype],
            "gpumerge": [*GPUMERGE, "sort", "--format=raw", f"--dtype={dtype}", name, "-o", "OUT"],
        }
        return Case(commands, "np.sort", 3.5 * nbytes)

    def _sort_of_records(self) -> Case:
        name = self.path("records")
        records(Path(name), int(1e7 * self.scale))
        commands = self._beside_gnu([name], "-S60%")
        commands["gpumerge"] = [*GPUMERGE, "sort", "--record-size=100", "--key-size=10", name, "-o", "OUT"]
        return Case(commands, "GNU sort", 3e9, repeat=3)

    def _sort_of_lines(self, options: list[str]) -> Case:
        name = self.path("lines")
        numbers = np.random.default_rng(3).integers(-(10**9), 10**9, int(2e7 * self.scale))
        np.savetxt(name, numbers, "%d")
        commands = self._beside_gnu([*options, name], "-S60%")
        for library, script in (("duckdb", DUCKDB), ("polars", POLARS)):
            if find_spec(library):
                commands[library] = [sys.executable, "-c", script, "n" if options else "e", name, "OUT"]
        return Case(commands, "GNU sort", 2e9, repeat=3)

    def _sort_outside(self) -> Case:
        names = self.texts("log", 4e9)
        return Case(self._beside_gnu(["-S256M", "-T", str(self.folder), *names]), "GNU sort", 5e9, repeat=0)

    def _beside_gnu(self, words: list[str], *more: str) -> dict[str, list[str]]:
        """The sorts with these arguments. more: further arguments of GNU sort."""
        return {
            "GNU sort": ["sort", f"--parallel={self.cores}", *more, *words, "-o", "OUT"],
            "gpumerge": [*GPUMERGE, "sort", *words, "-o", "OUT"],
        }


def measured(title: str, case: Case, bench: Bench, repeat: int) -> list[dict[str, Any]]:
    """One row a command."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in case.commands}
    folder, turns = bench.folder, repeat if case.repeat is None else case.repeat
    outs = {name: str(folder / f"out{number}") for number, name in enumerate(case.commands)}
    for turn in range(turns + 1):
        for name, words in random.Random(turn).sample(list(case.commands.items()), len(case.commands)):
            if case.room:
                _run([sys.executable, "-c", TAKE, str(int(case.room * bench.scale))])
            cold = folder / "cold"
            shutil.rmtree(cold, ignore_errors=True)
            took = _run([word.replace("OUT", outs[name]).replace("COLD", str(cold)) for word in words])
            if turn or not turns:
                found[name].append(took)
            if turn or not case.same:
                Path(outs[name]).unlink(missing_ok=True)
        if not turn and case.same:
            first, *others = outs.values()
            for other in others:
                subprocess.run(["cmp", first, other], check=True)
            for out in outs.values():
                os.remove(out)
    rows = []
    base = found[case.base]
    for name, each in found.items():
        walls, cpus = zip(*each, strict=True)
        rows.append(
            {
                "case": title, "command": name, "wall": median(walls), "fastest": min(walls), "cpu": median(cpus),
                "least_cpu": min(cpus), "over": case.base, "wall_over": median(walls) / median(w for w, _ in base),
                "cpu_over": min(cpus) / min(c for _, c in base), "turns": len(each),
            }
        )  # fmt: skip
        print(_line(rows[-1]), flush=True)
    return rows


def arrays() -> list[dict[str, Any]]:
    """Merges of arrays by one core: seconds, and GB/s in place of a comparison."""
    rows = []
    for dtype in ("int32", "int64"):
        done = subprocess.run([sys.executable, "-c", NUMPY_MERGE, dtype], env=_environment(), check=True, stdout=-1)
        nbytes, took = json.loads(done.stdout)
        walls, cpus = zip(*took, strict=True)
        rows.append(
            {
                "case": f"merge of arrays, 2 x 2^25 {dtype}, one core", "command": "gpumerge.merge",
                "wall": median(walls), "fastest": min(walls), "cpu": median(cpus), "least_cpu": min(cpus),
                "over": "GB/s", "wall_over": nbytes / median(walls) / 1e9, "cpu_over": nbytes / min(cpus) / 1e9,
                "turns": len(took),
            }
        )  # fmt: skip
        print(_line(rows[-1]), flush=True)
    return rows


def _cat(names: list[str]) -> list[str]:
    return ["sh", "-c", 'out=$1; shift; cat "$@" > "$out"', "cat", "OUT", *names]


def _environment() -> dict[str, str]:
    environment = os.environ | {"LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled, too
    return environment


def _run(words: list[str]) -> tuple[float, float]:
    """(wall, CPU) seconds of a command, which must succeed."""
    start = time.perf_counter()
    with subprocess.Popen(words, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return wall, usage.ru_utime + usage.ru_stime


def _line(row: dict[str, Any]) -> str:
    seconds = " | ".join(f"{row[name]:.3f}" for name in ("wall", "fastest", "cpu", "least_cpu"))
    return (
        f"| {row['case']} | {row['command']} | {seconds} | {row['wall_over']:.2f} | {row['cpu_over']:.2f} "
        f"| {row['over']} | {row['turns']} |"
    )


def about() -> dict[str, str]:
    """The machine, the versions and the commit."""

    def output_of(*words: str) -> str:
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.split("\n")[0]

    return {
        "gpumerge": output_of(*GPUMERGE, "--version"),
        "commit": output_of("git", "describe", "--always", "--dirty"),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "sort": output_of("sort", "--version"),
        "machine": f"{cpu()}, {len(os.sched_getaffinity(0))} cores, {os.uname().sysname} {os.uname().release}",
        "load_before": " ".join(f"{one:.1f}" for one in os.getloadavg()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", default="files")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="", help="of titles: merge 2 x 1 GB, sort, merge 1 KB, arrays, ...")
    wish = parser.parse_args()
    facts, rows = about(), []
    bench = Bench(wish.folder / "bench", wish.scale)
    for title, make in bench.cases().items():
        if re.search(wish.only, title):
            shutil.rmtree(bench.folder, ignore_errors=True)
            bench.folder.mkdir(parents=True)
            rows += measured(title, make(), bench, wish.repeat)
    shutil.rmtree(bench.folder, ignore_errors=True)
    if re.search(wish.only, "arrays"):
        rows += arrays()
    found = json.dumps({"about": facts, "measured": rows}, indent=1)
    Path(f"{wish.out}.json").write_text(found + "\n", encoding="utf-8")
    head = "; ".join(f"{name} {value}" for name, value in facts.items())
    columns = "| work | command | wall, s | fastest | CPU, s | least | wall over | least CPU over | over | turns |"
    lines = [f"Whole commands, in turns, from page cache; {head}.", "", columns, "|---" * 10 + "|", *map(_line, rows)]
    Path(f"{wish.out}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
