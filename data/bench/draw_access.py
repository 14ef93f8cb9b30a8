"""Draw where the 32 threads of a warp read: scattered in the basic kernel, coalesced in the tiled kernel.

python data/bench/draw_access.py data/figures/access.svg

The picture is of a real merge: A and B hold 80 sorted random int32 each, and a thread merges 5 outputs. Memory answers
in sectors of 32 bytes. A sector that holds an item that is read is fetched as a whole.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpumerge_cli.corank import co_rank
from gpumerge_cli.report.figure import save_figure
from gpumerge_cli.report.rounds_figure import COLOURS, FAINT, INK, PAPER

WARP, ITEMS, SECTOR = 32, 5, 8
"""Threads of a warp, outputs of a thread, int32 of a sector."""
_STYLE = {"svg.hashsalt": "gpumerge", "svg.fonttype": "none", "font.size": 10.0, "font.family": "sans-serif"}


def scattered() -> list[int]:
    """The item of A that each thread of the basic kernel reads first: its co-rank."""
    draw = random.Random(12)
    count = WARP * ITEMS // 2
    a, b = (sorted(draw.sample(range(10**6), count)) for _ in range(2))
    return [co_rank(ITEMS * thread, count, count, lambda j, i: b[j] < a[i])[0] for thread in range(WARP)]


def coalesced() -> list[int]:
    """The item of A that each thread of the tiled kernel stages first: one of neighbours."""
    return list(range(WARP))


def sectors(items: list[int]) -> list[int]:
    """The sectors that a load of these items fetches."""
    return sorted({item // SECTOR for item in items})


def picture() -> Figure:
    """One panel for each kernel."""
    figure = Figure(figsize=(8.0, 4.2), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(2, 1)
    for panel, name, items in zip(panels, ("basic", "tiled"), (scattered(), coalesced()), strict=True):
        _panel(panel, name, items)
    return figure


def _panel(panel: Any, name: str, items: list[int]) -> None:
    count = WARP * ITEMS // 2
    fetched = sectors(items)
    kind = "coalesced" if len(fetched) * SECTOR == WARP else "scattered"
    used = 100 * len(set(items)) // (len(fetched) * SECTOR)
    title = f"{name}: {kind}; one load of 32 threads fetches {len(fetched)} sectors, and uses {used} % of them"
    panel.set_title(title, fontsize=10, loc="left", color=INK)
    panel.set_xlim(-9, count + 1)
    panel.set_ylim(-0.6, 3.1)
    panel.axis("off")
    for sector in range(count // SECTOR):
        colour = COLOURS["A"] if sector in fetched else PAPER
        box = Rectangle((sector * SECTOR, 0), SECTOR, 1, facecolor=colour, alpha=0.25, gid=f"{name}-sector-{sector}")
        panel.add_patch(box)
        panel.add_patch(Rectangle((sector * SECTOR, 0), SECTOR, 1, fill=False, edgecolor=FAINT, linewidth=0.9))
    for item in sorted(set(items)):
        panel.add_patch(Rectangle((item, 0), 1, 1, facecolor=COLOURS["A"], linewidth=0))
    apart = count / WARP
    for thread, item in enumerate(items):
        at = (thread + 0.5) * apart
        panel.plot([at, item + 0.5], [2.5, 1.03], color=COLOURS["B"], linewidth=0.9)
        panel.plot([at], [2.6], marker="o", markersize=4, color=COLOURS["B"])
    panel.text(-1, 2.6, "threads", ha="right", va="center", color=FAINT, fontsize=9)
    panel.text(-1, 0.5, "A", ha="right", va="center", color=FAINT, fontsize=9)
    panel.text(
        0,
        -0.15,
        f"{count // SECTOR} sectors of 8 int32; a coloured sector is fetched",
        va="top",
        color=FAINT,
        fontsize=8,
    )


def main() -> None:
    with matplotlib.rc_context(_STYLE):
        save_figure(picture(), sys.argv[1])


if __name__ == "__main__":
    main()
