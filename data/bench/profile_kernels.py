"""Count by a profiler, for every kernel: bytes of device memory read and written, occupancy, bank conflicts, sectors of
32 bytes for each request of a warp, and the threads that are active in an instruction.

metrics=$(python data/bench/profile_kernels.py --metrics)
ncu --clock-control none --csv --metrics $metrics python data/bench/profile_kernels.py > counts.csv
python data/bench/profile_kernels.py --table counts.csv > data/results/h200/profile.md

Each work runs once. A kernel that does nothing marks its beginning: the number of its blocks is that of the work.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

COUNT = 1 << 26
"""Items in all of a work, but for values."""

METRICS = {
    "dram__bytes_read.sum": "read",
    "dram__bytes_write.sum": "written",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "conflicts",
    "smsp__inst_executed.sum": "instructions",
    "gpu__time_duration.sum": "time",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "load requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "load sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "store requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "store sectors",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "active threads",
    "launch__registers_per_thread": "registers",
}
_UNITS = {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-3, "us": 1.0, "ms": 1e3}
_MARK = "mark_work"
_RUNS = (2, 4, 8, 16)
_MADE_ON = "measured on: "
CALLS = {
    "union of int32": ("union", "int32", None),
    "intersect of int32": ("intersect", "int32", None),
    "union of int64": ("union", "int64", None),
    "union of float32": ("union", "float32", None),
    "union of int32 with values of 4 bytes": ("union", "int32", 1),
    "union of int32 with rows of 12 bytes": ("union", "int32", 3),
    "merge of int32 with values of 4 bytes": ("merge", "int32", 1),
    "merge of int32 from Python, beside its cuts": ("merge", "int32", None),
}
"""Calls from Python on two arrays: the function, the dtype of keys, and the numbers of 4 bytes that go with each."""


def _kernels() -> list[str]:
    """The kernels of the ladder that a GPU runs: `vector` runs path there."""
    from gpumerge_cli.backends.ladder import KERNELS

    return [kernel for kernel in KERNELS if kernel != "vector"]


def names() -> list[str]:
    """The names of all works, in their order."""
    merges = [f"merge of int32 by {kernel}" for kernel in (*_kernels(), "tiled, exact loading")]
    wide = [f"merge of {dtype}" for dtype in ("int64", "float32", "float64")]
    several = [f"merge of {count} runs of int32" for count in _RUNS[1:]]
    narrow = [f"merge of {dtype}, value by value" for dtype in ("int16", "uint8")]
    sorts = [f"sort of {dtype} by digits" for dtype in ("uint32", "float32", "uint64")]
    return [*merges, "CCCL's merge of int32", *wide, *several, *narrow, *sorts, *CALLS]


def _works() -> Iterator[Callable[[], object]]:
    """The works of `names`. Whatever a work needs is made before it is given."""
    from gpumerge_cli.launch import LaunchRequest, SortRequest

    with _Runs("int32") as (backend, order, workspace):
        for request in (*(LaunchRequest(kernel) for kernel in _kernels()), LaunchRequest("tiled", tile_load="exact")):
            yield partial(workspace.merge, backend.resolve(request, order, 2))
        yield workspace.baselines().get("cccl", lambda: None)
    usual = [(dtype, 2) for dtype in ("int64", "float32", "float64")] + [("int32", count) for count in _RUNS[1:]]
    for dtype, runs in (*usual, ("int16", 2), ("uint8", 2)):
        with _Runs(dtype, runs) as (backend, order, workspace):
            yield partial(workspace.merge, backend.resolve(LaunchRequest(), order, runs))
    for dtype in ("uint32", "float32", "uint64"):
        with _Runs(dtype, 1) as (backend, order, workspace):
            nbytes = COUNT * order.item_bytes
            yield partial(workspace.sort, backend.resolve_sort(SortRequest("radix"), order, nbytes))
    yield from map(_called, *zip(*CALLS.values(), strict=True))


class _Runs:
    """A workspace with runs of uniform keys in it."""

    def __init__(self, dtype: str, runs: int = 2) -> None:
        from gpumerge_cli.backends.gpu import access as gpu
        from gpumerge_cli.order.kinds import Order

        self._backend, self._order, self._runs = gpu.create(), Order.of(dtype), _keys(dtype, runs)

    def __enter__(self) -> Any:
        import numpy as np

        nbytes = COUNT * self._order.item_bytes
        self._workspace = self._backend.workspace(self._order, nbytes)
        self._workspace.staging(nbytes)[:] = np.concatenate(self._runs).view(np.uint8)
        self._workspace.upload([run.nbytes for run in self._runs])
        return self._backend, self._order, self._workspace

    def __exit__(self, *error: object) -> None:
        self._workspace.synchronize()
        self._workspace.close()


def _keys(dtype: str, runs: int) -> list[Any]:
    import numpy as np

    from gpumerge_cli.compare.key_shapes import Family

    family = Family("uniform", np.dtype(dtype), COUNT // runs, runs, seed=1, shuffled=runs == 1)
    return [family.keys(run) for run in range(runs)]


def _called(name: str, dtype: str, words: int | None) -> Callable[[], object]:
    """A call from Python. It ran once, so that it finds its kernels ready."""
    import cupy

    import gpumerge_cli

    a, b = map(cupy.asarray, _keys(dtype, 2))
    options: dict[str, Any] = {}
    if words:
        values = cupy.zeros((COUNT, words), cupy.int32) if words > 1 else cupy.zeros(COUNT, cupy.int32)
        options = {"values": [values[: len(a)], values[len(a) :]]}
    call = partial(getattr(gpumerge_cli, name), a, b, **options)
    call()
    return call


def run() -> None:
    """Do each work once, behind its mark, and say where."""
    import cupy
    from measured_on import measured_on

    print(f"{_MADE_ON}{measured_on()}", flush=True)
    mark = cupy.RawKernel(f'extern "C" __global__ void {_MARK}() {{}}', _MARK)
    for number, work in enumerate(_works(), 2):
        mark((number,), (1,), ())
        work()
        cupy.cuda.Device().synchronize()
        mark((1,), (1,), ())  # what comes now belongs to no work


def _short(kernel: str) -> str:
    """A kernel's name without its namespace, template arguments and parameters."""
    return kernel.split("(")[0].split("<")[0].removeprefix("void ").rsplit("::", 1)[-1]


def _each(values: dict[str, float], access: str) -> str:
    """Sectors for each request of a warp, or nothing where the kernel makes none by this way (bulk copies)."""
    requests = values[f"{access} requests"]
    return f"{values[f'{access} sectors'] / requests:.1f}" if requests else ""


def _grid(text: str) -> int:
    return int(text.split(",")[0].strip("( "))


def table(path: Path) -> str:
    """The profiler's CSV as a Markdown table, one row a launch."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    made_on = [line.removeprefix(_MADE_ON) for line in lines[:start] if line.startswith(_MADE_ON)]
    found: dict[tuple[int, str, int, int], dict[str, float]] = defaultdict(dict)
    for row in csv.DictReader(line for line in lines[start:] if line.startswith('"')):
        launch = int(row["ID"]), _short(row["Kernel Name"]), _grid(row["Grid Size"]), _grid(row["Block Size"])
        value = float(row["Metric Value"].replace(",", ""))
        found[launch][METRICS[row["Metric Name"]]] = value * _UNITS.get(row["Metric Unit"], 1)
    heads = ["work", "kernel", "blocks x threads", "read, MB", "written, MB", "time, us", "occupancy, %"]
    heads += ["bank conflicts an item", "warp instructions for 32 items"]
    heads += ["sectors a load", "sectors a store", "active threads an instruction", "registers a thread"]
    text = [
        f"Each work once, of {COUNT:,} items in all in runs of uniform keys: one row for each launch.",
        f"{made_on[0] if made_on else 'Nothing says where.'}",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    works, number = names(), 1
    for (_, kernel, blocks, threads), values in sorted(found.items()):
        if kernel == _MARK:
            number = blocks
            continue
        if number == 1:
            continue
        cells = [works[number - 2], kernel, f"{blocks} x {threads}"]
        cells += [f"{values['read'] / 1e6:.0f}", f"{values['written'] / 1e6:.0f}"]
        cells += [f"{values['time']:.0f}", f"{values['occupancy']:.0f}", f"{values['conflicts'] / COUNT:.2f}"]
        cells.append(f"{values['instructions'] / COUNT * 32:.1f}")
        cells += [_each(values, "load"), _each(values, "store")]
        cells += [f"{values['active threads']:.1f}", f"{values['registers']:.0f}"]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", action="store_true", help="print the metrics that the table needs")
    parser.add_argument("--table", type=Path, metavar="CSV", help="print the table of what the profiler counted")
    wish = parser.parse_args()
    if wish.metrics:
        print(",".join(METRICS))
    elif wish.table:
        sys.stdout.write(table(wish.table) + "\n")
    else:
        run()


if __name__ == "__main__":
    main()
