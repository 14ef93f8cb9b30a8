"""Count by a profiler, for every kernel: bytes of device memory read and written, occupancy, bank conflicts.

ncu --csv --metrics $(python data/bench/profile_kernels.py --metrics) python data/bench/profile_kernels.py > counts.csv
python data/bench/profile_kernels.py --table counts.csv > data/results/h200/profile.md

The profiled program merges two runs of int32 by each kernel once, and 4, 8 and 16 runs by one pass of path. It also
merges two runs of int16, and sorts uint32 by digits.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

COUNT = 1 << 26
"""Items of output in all."""

METRICS = {
    "dram__bytes_read.sum": "read",
    "dram__bytes_write.sum": "written",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "conflicts",
    "smsp__inst_executed.sum": "instructions",
    "gpu__time_duration.sum": "time",
}
_UNITS = {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-3, "us": 1.0, "ms": 1e3}


def run() -> None:
    """Merge once by each kernel."""
    import numpy as np

    from gpumerge_cli.backends import gpu
    from gpumerge_cli.backends.base import KERNELS, LaunchRequest, SortRequest
    from gpumerge_cli.compare.cases import Family
    from gpumerge_cli.order import Order

    backend = gpu.create()
    for dtype, runs in (("int32", 2), ("int32", 4), ("int32", 8), ("int32", 16), ("int16", 2), ("uint32", 1)):
        order = Order.of(dtype)
        keys = Family("uniform", np.dtype(dtype), COUNT // runs, runs, seed=1, shuffled=runs == 1).all_keys()
        workspace = backend.workspace(order, COUNT * order.item_bytes)
        workspace.staging(COUNT * order.item_bytes)[:] = np.concatenate(keys).view(np.uint8)
        workspace.upload([run.nbytes for run in keys])
        if runs == 1:
            workspace.sort(backend.resolve_sort(SortRequest("radix"), order, COUNT * order.item_bytes))
        elif dtype == "int32" and runs == 2:
            for request in (*(LaunchRequest(kernel) for kernel in KERNELS), LaunchRequest("tiled", tile_load="exact")):
                workspace.merge(backend.resolve(request, order, runs))
            workspace.baselines()["cccl"]()
        else:
            workspace.merge(backend.resolve(LaunchRequest(), order, runs))
        workspace.synchronize()
        workspace.close()


def _short(kernel: str) -> str:
    """A kernel's name without its namespace, template arguments and parameters."""
    return kernel.split("(")[0].split("<")[0].removeprefix("void ").rsplit("::", 1)[-1]


def table(path: Path) -> str:
    """The profiler's CSV as a Markdown table, one row a launch."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    found: dict[tuple[int, str, str], dict[str, float]] = defaultdict(dict)
    for row in csv.DictReader(lines[start:]):
        launch = f"{row['Grid Size'].split(',')[0].strip('( ')} x {row['Block Size'].split(',')[0].strip('( ')}"
        value = float(row["Metric Value"].replace(",", ""))
        name = METRICS[row["Metric Name"]]
        found[int(row["ID"]), _short(row["Kernel Name"]), launch][name] = value * _UNITS.get(row["Metric Unit"], 1)
    mega = 4 * COUNT / 1e6
    heads = ["kernel", "blocks x threads", "read, MB", "written, MB", "time, us", "occupancy, %"]
    heads += ["bank conflicts an item", "warp instructions for 32 items"]
    text = [
        f"Each kernel once: {COUNT:,} items in all, of int32 {mega:.0f} MB in and as many out; runs of uniform keys.",
        "Ahead of the last rows: 4, 8 and 16 runs of int32, then two of int16, then a sort of uint32 by digits.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for (_, kernel, launch), values in sorted(found.items()):
        cells = [kernel, launch, f"{values['read'] / 1e6:.0f}", f"{values['written'] / 1e6:.0f}"]
        cells += [f"{values['time']:.0f}", f"{values['occupancy']:.0f}", f"{values['conflicts'] / COUNT:.2f}"]
        cells.append(f"{values['instructions'] / COUNT * 32:.1f}")
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
