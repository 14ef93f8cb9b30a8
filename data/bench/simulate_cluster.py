"""Simulate a sort of 100 TB on 40 and on 400 machines, and write the tables and the figure. See cluster_model.py.

python data/bench/simulate_cluster.py data/results/simulation [--figure data/figures/cluster.svg] [--seed N]
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from cluster_model import DATA, Machine, Setting, Sorted, part_sizes, simulate

EXOSHUFFLE = 5378
"""Seconds of Exoshuffle-CloudSort on 40 i4i.4xlarge: arXiv:2301.03734, https://sortbenchmark.org (2022)."""


def settings(machines: int) -> list[Setting]:
    """The rows of the table."""
    even = Setting("nothing varies", machines)
    usual = replace(even, name="tasks vary (sigma 0.3)", sigma=0.3)
    bad = replace(usual, name="... and 5 % of the machines take twice as long", slow=0.05)
    return [
        even,
        usual,
        bad,
        replace(bad, name="... and 5 % of the machines die in each phase", dying=0.05),
        replace(usual, name="tasks vary, pieces of 2 GB", piece=2e9),
        replace(usual, name="tasks vary, window of 1 a slot", window=1.0),
        replace(usual, name="tasks vary, window of a third a slot", window=1 / 3),
        replace(usual, name="tasks vary, client takes 10 ms a task", schedule=10e-3),
        replace(usual, name="tasks vary, client cuts, files in reach (1.6 us a read)", cuts="client"),
        replace(usual, name="tasks vary, client cuts over a store (20 ms, 64 at once)", cuts="client", cut=0.02 / 64),
        replace(usual, name="tasks vary, 100 sampled keys a part", splitters="100"),
        replace(usual, name="tasks vary, 20 sampled keys a part", splitters="20"),
        replace(usual, name="tasks vary, exact cuts, one key has 1 %", heavy=0.01),
        replace(usual, name="tasks vary, 100 sampled keys a part, one key has 1 %", splitters="100", heavy=0.01),
    ]


def table(rows: Sequence[Sorted]) -> list[str]:
    """The rows as Markdown."""
    lines = [
        "| machines | setting | runs, s | client ahead of merges, s | merges, s | whole, s | machines idle at the end "
        "of merges | largest part over the mean | TB done again |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        one = row.setting
        sizes = part_sizes(one, max(1, round(DATA / one.piece)), DATA, np.random.default_rng(0))
        again = (row.runs.again + row.merges.again) / 1e12
        lines.append(
            f"| {one.machines} | {one.name} | {row.runs.seconds:,.0f} | {row.planning:,.1f} | "
            f"{row.merges.seconds:,.0f} | {row.seconds:,.0f} | {100 * row.idle:.1f} % | "
            f"{sizes.max() / sizes.mean():.2f} | {again:.2f} |"
        )
    return lines


def assumptions(seed: int, commit: str) -> list[str]:
    """All that the table rests on."""
    one, machine = Setting(""), Machine()
    cores = "times 8 cores, as 16 threads are assumed to be"
    inputs = [
        ("network of a machine, each way", f"{machine.network / 1e9:.2f} GB/s",
         "assumed: 9.375 Gb/s that last, of up to 25 Gb/s of an i4i.4xlarge"),
        ("shared storage", "as fast as all networks", "assumed"),
        ("sort, a machine", f"{machine.sort / 1e9:.2f} GB/s",
         f"measured: 1 GB of 100-byte records in 1.71 s of CPU on an Intel Xeon, {cores}"),
        ("merge, a machine", f"{machine.merge / 1e9:.2f} GB/s",
         "measured: 512 files of 1 GB in all in 2.05 s of CPU on the Xeon (../epyc/files.md has 2.02 s), "
         f"{cores}; more were not measured"),
        ("run; piece", f"{one.run / 1e9:.0f} GB; {one.piece / 1e9:.0f} GB",
         "chosen: a sort takes 2.0 to 2.5 times its data (../h100/file-sorts.md), and a machine of 128 GB holds three"),
        ("tasks of a machine", f"{machine.slots}", "chosen: one reads, one works, one writes"),
        ("tasks submitted and not done", f"{one.window:.0f} for each task of a machine", "chosen"),
        ("client, a task", f"{1e3 * one.schedule:.0f} ms", "assumed; ../epyc/plan.md has 5 ms on a busy machine"),
        ("reads for a cut, of each run", f"{one.reads}", "measured: 1.0 to 1.6 at 10,000 cuts (../epyc/plan.md)"),
        ("such a read from files in reach", f"{1e6 * one.cut:.1f} us", "assumed; ../epyc/plan.md has 7 us, busy"),
        ("such a read from a store", f"{1e3 * machine.latency:.0f} ms, {machine.readers} at once", "assumed"),
        ("a machine that dies", "its tasks start again elsewhere", "assumed: at any time; runs are in shared storage"),
        ("sampled splitters", "parts are sums of 100 or 20 random gaps; a key is in one part",
         "Spark SQL samples 100 keys a part, RDDs 20 (SPARK-22160); duplicates of a key are not divided"),
    ]  # fmt: skip
    return [
        "# A sort of 100 TB, simulated",
        "",
        f"Commit {commit}, seed {seed}, by `python data/bench/simulate_cluster.py data/results/simulation`.",
        "Nothing here was run on a cluster.",
        "",
        "| input | value | where it comes from |",
        "|---|---|---|",
        *(f"| {name} | {value} | {source} |" for name, value, source in inputs),
        "",
        f"Exoshuffle-CloudSort took {EXOSHUFFLE:,} s on 40 i4i.4xlarge (arXiv:2301.03734, https://sortbenchmark.org).",
        "That was measured, with all that goes wrong in an hour and a half. These rows leave most of it",
        "out, so that one comes near it says nothing.",
        "",
    ]


def draw(rows: Sequence[Sorted], path: Path) -> None:
    """Bars of the phases of each setting, one panel for each number of machines."""
    import matplotlib
    from matplotlib.figure import Figure

    from gpumerge_cli.report.figure import save_figure

    with matplotlib.rc_context({"svg.hashsalt": "gpumerge", "font.size": 9.0}):
        figure = Figure(figsize=(9.0, 7.6), layout="constrained")
        sizes = sorted({row.setting.machines for row in rows})
        for panel, machines in zip(figure.subplots(len(sizes), 1, squeeze=False)[:, 0], sizes, strict=True):
            shown = [row for row in rows if row.setting.machines == machines][::-1]
            names = [row.setting.name for row in shown]
            left = np.zeros(len(shown))
            parts = {
                "runs": [row.runs.seconds for row in shown],
                "client's cuts ahead of merges": [row.planning for row in shown],
                "merges": [row.merges.seconds for row in shown],
            }
            for (label, seconds), colour in zip(parts.items(), ("#6a8d2f", "#b04a2f", "#3056a0"), strict=True):
                panel.barh(names, seconds, left=left, color=colour, label=label)
                left += np.array(seconds)
            if machines == 40:
                panel.axvline(EXOSHUFFLE, color="#555555", linestyle="--", label="Exoshuffle-CloudSort, measured")
            panel.set_xlim(0, 2.5 * np.median(left))
            panel.set_title(f"100 TB on {machines} machines, simulated; longer bars are cut off", loc="left")
            panel.set_xlabel("seconds")
            panel.legend(frameon=False, fontsize=8.0)
        save_figure(figure, str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where sort.md goes")
    parser.add_argument("--figure", type=Path, help="where the figure goes: .svg or .png")
    parser.add_argument("--machines", type=int, nargs="+", default=[40, 400])
    parser.add_argument("--seed", type=int, default=19)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    rows = [simulate(one, given.seed) for machines in given.machines for one in settings(machines)]
    given.folder.mkdir(parents=True, exist_ok=True)
    lines = assumptions(given.seed, commit.stdout.strip() or "unknown") + table(rows)
    (given.folder / "sort.md").write_text("\n".join(lines) + "\n")
    print("\n".join(table(rows)))
    if given.figure:
        draw(rows, given.figure)


if __name__ == "__main__":
    main()
