#!/usr/bin/env python3
"""Measures the first use of a GPU: with empty caches, when NVRTC compiles, and in a new process that finds the code.

usage: python3 data/bench/measure_first_use.py [--scratch FOLDER] [--turns 3] [--only WORDS ...]; needs 1 GB in FOLDER.
With --units it needs no GPU, and measures NVRTC alone: each unit by itself, and all that a work needs side by side.

Every work runs in a process of its own. Seconds of Python's calls begin when CuPy is imported and a context is there;
seconds of commands begin when the interpreter is ready. The rows below a work are the units that
NVRTC compiled, from when to when. Writes markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import Future
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

WATCH = """
import json, re, sys, threading, time
clock = time.perf_counter
units, names, loads, waits, ahead = [], {}, [], [], []
def watch():
    import cupy
    nvrtc = cupy.cuda.nvrtc
    create, compile_ = nvrtc.createProgram, nvrtc.compileProgram
    def creates(source, name, *rest):
        program = create(source, name, *rest)
        entry = re.search(r'(?:__global__[^(]*?)(\\w+)\\s*\\(', re.sub(r'__launch_bounds__\\([^)]*\\)', '', source))
        names[program] = name if name.endswith('.cu') and '/' not in name else 'CuPy: ' + (entry[1] if entry else name)
        return program
    def compiles(program, options):
        start = clock()
        try:
            return compile_(program, options)
        finally:
            units.append((names[program], start - began, clock() - began))
    nvrtc.createProgram, nvrtc.compileProgram = creates, compiles
    from gpumerge_cli.backends.gpu import compiled, module
    kernel, image = compiled.kernel, compiled.image
    def loaded(file, options, *rest):
        start = clock()
        try:
            return kernel(file, options, *rest)
        finally:
            loads.append(clock() - start)
    def waited(file, options, capability):
        start = clock()
        try:
            return image(file, options, capability)
        finally:
            waits.append((file, clock() - start))
    module.kernel, compiled.image = loaded, waited
def report():
    seconds = clock() - began
    print(json.dumps({'seconds': seconds, 'units': units, 'waited': sum(t for _, t in waits),
        'loaded': sum(loads) - sum(t for _, t in waits), 'kernels': len(loads), 'again': again}), file=sys.stderr)
again = 0.0
"""
ARRAYS = """
import numpy, cupy, gpumerge_cli
cupy.cuda.runtime.free(0)
rng = numpy.random.default_rng(1)
def array(count, in_order):
    items = rng.integers(0, 100, count).astype(DTYPE)
    return cupy.asarray(numpy.sort(items) if in_order else items)
def work():
    CALL
    cupy.cuda.Device().synchronize()
arrays = [array(COUNT, CALL_MERGES) for _ in range(1 + CALL_MERGES)]
cupy.cuda.Device().synchronize()
began = clock()
watch()
work()
first = clock()
work()
again = clock() - first
began += again
report()
"""
COMMAND = """
began = clock()
from gpumerge_cli.backends.gpu.early import make_contexts
make_contexts([0])
watch()
from gpumerge_cli.cli.app import invoke
code = invoke(sys.argv[1:])
report()
sys.exit(code)
"""


def lines(rng: np.random.Generator, count: int) -> list[bytes]:
    numbers = rng.integers(0, 10**8, (count, 2)).tolist()
    return [b"%d word%d text behind it" % (first, second) for first, second in numbers]


def works(scratch: Path) -> dict[str, tuple[str, list[str]]]:
    """(code, arguments) of each work."""
    rng = np.random.default_rng(3)
    found: dict[str, tuple[str, list[str]]] = {}
    for dtype, count in (("int32", 1 << 20), ("int32", 1 << 25), ("int64", 1 << 25)):
        found[f"merge, 2 arrays of {count} {dtype}"] = (_arrays("gpumerge_cli.merge(*arrays)", dtype, count), [])
    for dtype, count in (("int32", 1 << 24), ("int64", 1 << 24)):
        found[f"sort, {count} {dtype}"] = (_arrays("gpumerge_cli.sort(arrays[0])", dtype, count), [])
    for width in (4, 8):
        files = [scratch / f"{number}.i{8 * width}" for number in range(2)]
        for file in files:
            np.sort(rng.integers(-(2**31), 2**31 - 1, 1 << 24)).astype(f"i{width}").tofile(file)
        found[f"gpumerge merge, int{8 * width}"] = (COMMAND, ["merge", *map(str, files)])
    mixed = scratch / "mixed.i32"
    rng.integers(-(2**31), 2**31 - 1, 1 << 24).astype(np.int32).tofile(mixed)
    found["gpumerge sort, int32"] = (COMMAND, ["sort", "--dtype", "int32", str(mixed)])
    text = lines(rng, 500_000)
    orders: dict[str, tuple[list[str], Any]] = {
        "bytewise": ([], None),
        "-n": (["-n"], lambda line: (int(line.split()[0]), line)),
        "-k2,2 -k1,1n": (["-k2,2", "-k1,1n"], lambda line: (line.split()[1], int(line.split()[0]), line)),
    }
    (scratch / "mixed.txt").write_bytes(b"\n".join(text) + b"\n")
    for name, (options, key) in orders.items():
        files = [scratch / f"{number}{name.replace(' ', '')}.txt" for number in range(2)]
        for number, file in enumerate(files):
            file.write_bytes(b"\n".join(sorted(text[number::2], key=key)) + b"\n")
        found[f"gpumerge sort -m, lines {name}"] = (COMMAND, ["sort", "-m", *options, *map(str, files)])
    for name in ("bytewise", "-n", "-k2,2 -k1,1n"):
        found[f"gpumerge sort, lines {name}"] = (COMMAND, ["sort", *orders[name][0], str(scratch / "mixed.txt")])
    return found


def _arrays(call: str, dtype: str, count: int) -> str:
    merges = int("merge" in call)
    code = ARRAYS.replace("CALL_MERGES", str(merges)).replace("CALL", call)
    return code.replace("DTYPE", repr(dtype)).replace("COUNT", str(count))


def ran(code: str, arguments: list[str], cache: Path, out: Path, backend: str = "gpu") -> dict[str, Any]:
    """The findings of one process."""
    if arguments:
        arguments = [*arguments, "--backend", backend, "-o", str(out)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache / "own")}
    environment |= {"CUPY_CACHE_DIR": str(cache / "cupy"), "CUDA_CACHE_PATH": str(cache / "nvrtc")}
    environment["PYTHONPYCACHEPREFIX"] = str(cache.parent / "bytecode")
    done = subprocess.run(
        [sys.executable, "-c", f"{WATCH}\n{code}", *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT, env=environment,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stderr}")
    result: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return result


def units(only: list[str]) -> None:
    """Print a table of the units of those kinds of work whose names hold one of `only`."""
    import time
    from concurrent.futures import ThreadPoolExecutor

    os.environ["CUDA_CACHE_DISABLE"] = "1"  # NVRTC uses the driver's cache
    import cupy

    from gpumerge_cli.backends.gpu import ahead, module
    from gpumerge_cli.backends.gpu.policy import resolve
    from gpumerge_cli.backends.gpu.sort_policy import resolve_sort
    from gpumerge_cli.backends.gpu.source import flatten
    from gpumerge_cli.backends.limits import TUNED_ON
    from gpumerge_cli.launch import LaunchRequest, SortRequest
    from gpumerge_cli.order.key_kinds import KIND_OF
    from gpumerge_cli.order.kinds import Order
    from gpumerge_cli.order.rules import LineKey, LineOrder

    needed: list[tuple[str, tuple[str, ...]]] = []

    def begin(file: str, options: tuple[str, ...], capability: int) -> Future[bytes]:
        needed.append((file, options))
        return Future()

    setattr(module, "begin_compiling", begin)  # noqa: B010 - it is imported there from compiled

    def compiled(unit: tuple[str, tuple[str, ...]]) -> tuple[float, int]:
        nvrtc, (file, options), start = cupy.cuda.nvrtc, unit, time.perf_counter()
        program = nvrtc.createProgram(flatten(file), file, (), ())
        nvrtc.compileProgram(program, ("-std=c++17", "-arch=sm_90", *options))
        size = len(nvrtc.getCUBIN(program))
        nvrtc.destroyProgram(program)
        return time.perf_counter() - start, size

    orders = {name: Order.of(name) for name in ("int32", "int64", "float32", "float64")}
    orders |= {"records of 100 bytes": Order.records(100, 0, 10), "lines, bytewise": Order.lines()}
    orders |= {f"lines, {way}": Order.lines(LineOrder((LineKey(way),))) for way in KIND_OF}
    orders["lines, bytes and numeric"] = Order.lines(LineOrder((LineKey(start_field=1), LineKey("numeric"))))
    compiled(("hold.cu", ()))
    print("| kind | units: s alone (KiB) | s side by side |")
    print("|---|---|---|")
    for name, order in orders.items():
        for what in ("merge", "sort"):
            if not any(part in f"{what} of {name}" for part in only):
                continue
            launch = resolve(LaunchRequest(), order, TUNED_ON, 2)
            sorting = resolve_sort(SortRequest("merge"), order, TUNED_ON, 0)
            needed.clear()
            policy = launch if what == "merge" else sorting
            ahead.compile_ahead(module.Kernels(0, order, TUNED_ON), policy, 1 << 22, check=what == "merge")
            alone = [min(compiled(unit) for _ in range(2)) for unit in needed]
            with ThreadPoolExecutor(len(needed)) as threads:
                start = time.perf_counter()
                list(threads.map(compiled, needed))
                together = time.perf_counter() - start
            columns = ", ".join(
                f"{file.removesuffix('.cu')} {seconds:.2f} ({size >> 10})"
                for (file, _), (seconds, size) in zip(needed, alone, strict=True)
            )
            print(f"| {what} of {name} | {columns} | {together:.2f} |", flush=True)


def measured(name: str, code: str, arguments: list[str], scratch: Path, turns: int) -> None:
    """Print the rows of a work."""
    suffix = Path(arguments[-1]).suffix if arguments else ""
    out, right = scratch / f"out{suffix}", scratch / f"right{suffix}"
    with tempfile.TemporaryDirectory(dir=scratch) as cache:
        first = ran(code, arguments, Path(cache), out)
        later = [ran(code, arguments, Path(cache), out) for _ in range(turns)]
        loaded, seconds, again = (median(one[what] for one in later) for what in ("loaded", "seconds", "again"))
        print(
            f"| {name} | {first['seconds']:.3f} | {first['waited']:.3f} | {loaded:.3f} ({first['kernels']} kernels) "
            f"| {seconds:.3f} | {again:.4f} |"
        )
        for unit, start, stop in first["units"]:
            print(f"| - {unit} | {start:.2f} to {stop:.2f} | | | | |")
        for unit, start, stop in later[0]["units"]:
            print(f"| - {unit}, in a later process, too | {start:.2f} to {stop:.2f} | | | | |")
        if arguments:
            ran(code, arguments, Path(cache), right, "cpu")
            if out.read_bytes() != right.read_bytes():
                print(f"| {name} IS WRONG | | | | | |")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scratch", type=Path, default=Path("."))
    parser.add_argument("--turns", type=int, default=3, help="new processes that find the code")
    parser.add_argument("--only", nargs="*", default=[""], help="the works whose names hold one of these")
    parser.add_argument("--units", action="store_true", help="compile units, and run nothing")
    chosen = parser.parse_args()
    if chosen.units:
        sys.path.insert(0, str(ROOT))
        units(chosen.only)
        return
    found = {name: work for name, work in works(chosen.scratch).items() if any(part in name for part in chosen.only)}
    # Python's bytecode is there then, as of an installed package.
    for code, arguments in {bool(work[1]): work for work in found.values()}.values():
        with tempfile.TemporaryDirectory(dir=chosen.scratch) as cache:
            ran(code, arguments, Path(cache), chosen.scratch / ("out" + Path((arguments or [""])[-1]).suffix))
    print("| work | first use ever, s | of it waiting for NVRTC | loading | in a new process, s | again |")
    print("|---|---|---|---|---|---|")
    for name, (code, arguments) in found.items():
        measured(name, code, arguments, chosen.scratch, chosen.turns)


if __name__ == "__main__":
    main()
