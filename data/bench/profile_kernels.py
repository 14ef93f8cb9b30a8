"""Count by a profiler, for every kernel: bytes of device memory read and written, occupancy, bank conflicts.

ncu --csv --metrics $(python data/bench/profile_kernels.py --metrics) python data/bench/profile_kernels.py > counts.csv
python data/bench/profile_kernels.py --table counts.csv > data/results/h200/profile.md

The profiled program merges two runs of int32 by each kernel once, and eight runs by one pass of path.
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
    from gpumerge_cli.backends.base import KERNELS, LaunchRequest
    from gpumerge_cli.compare.cases import Family
    from gpumerge_cli.order import Order

    backend, order = gpu.create(), Order.of("int32")
    for runs in (2, 8):
        keys = Family("uniform", np.dtype("int32"), COUNT // runs, runs, seed=1).all_keys()
        workspace = backend.workspace(order, 4 * COUNT)
        workspace.staging(4 * COUNT)[:] = np.concatenate(keys).view(np.uint8)
        workspace.upload([run.nbytes for run in keys])
        requests = [LaunchRequest(kernel) for kernel in KERNELS] + [LaunchRequest("tiled", tile_load="exact")]
        for request in requests if runs == 2 else [LaunchRequest()]:
            workspace.merge(backend.resolve(request, order, runs))
        if runs == 2:
            workspace.baselines()["cccl"]()
        workspace.synchronize()
        workspace.close()


def table(path: Path) -> str:
    """The profiler's CSV as a Markdown table, one row a launch."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    found: dict[tuple[int, str, str], dict[str, float]] = defaultdict(dict)
    for row in csv.DictReader(lines[start:]):
        launch = f"{row['Grid Size'].split(',')[0].strip('( ')} x {row['Block Size'].split(',')[0].strip('( ')}"
        value = float(row["Metric Value"].replace(",", ""))
        name = METRICS[row["Metric Name"]]
        found[int(row["ID"]), row["Kernel Name"].split("(")[0], launch][name] = value * _UNITS.get(
            row["Metric Unit"], 1
        )
    mega = 4 * COUNT / 1e6
    heads = ["kernel", "blocks x threads", "read, MB", "written, MB", "time, us", "occupancy, %"]
    heads += ["bank conflicts an item", "warp instructions for 32 items"]
    text = [
        f"Each kernel once: {COUNT:,} int32 in all, {mega:.0f} MB in and as many out; runs of uniform keys.",
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
