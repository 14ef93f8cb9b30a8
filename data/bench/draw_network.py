"""Draw how the vector kernel merges: the steps of a chain, and the network that merges two vectors.

python data/bench/draw_network.py data/figures/vector-merge.svg

The picture is of a real merge of the runs of kernels/README.md, with vectors of four keys.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpumerge_cli.report.figure import save_figure
from gpumerge_cli.report.rounds_figure import COLOURS, FAINT, INK, PAPER

LANES = 4
"""Keys of a vector."""
A, B = [1, 4, 5, 9, 10, 12, 13, 20], [2, 3, 6, 7, 8, 11, 14, 15]
_STYLE = {"svg.hashsalt": "gpumerge", "svg.fonttype": "none", "font.size": 10.0, "font.family": "sans-serif"}
Key = tuple[int, str]
"""A key, and the run that it comes from."""


@dataclass(frozen=True)
class Step:
    """One step of a chain."""

    held: list[Key]
    heads: str
    """The keys that are compared."""
    taken: list[Key]
    out: list[Key]


def exchanged(keys: list[Key], distance: int) -> list[Key]:
    """The keys with each two lanes that are `distance` apart in order."""
    chosen = [(keys[lane], keys[lane ^ distance]) for lane in range(len(keys))]
    return [max(pair) if lane & distance else min(pair) for lane, pair in enumerate(chosen)]


def network(held: list[Key], taken: list[Key]) -> list[list[Key]]:
    """Two sorted vectors, the second one reversed, and the same keys behind each level of the network."""
    found, distance = [held + taken[::-1]], len(held)
    while distance:
        found.append(exchanged(found[-1], distance))
        distance //= 2
    return found


def steps() -> list[Step]:
    """The steps of the chain that merges A and B by vectors."""
    a, b = [(key, "A") for key in A], [(key, "B") for key in B]
    held, a = a[:LANES], a[LANES:]
    found = []
    while len(a) >= LANES and len(b) >= LANES:
        heads = f"{b[0][0]} < {a[0][0]}: B" if b[0] < a[0] else f"{a[0][0]} <= {b[0][0]}: A"
        source = b if b[0] < a[0] else a
        taken = source[:LANES]
        del source[:LANES]
        merged = network(held, taken)[-1]
        found.append(Step(held, heads, taken, merged[:LANES]))
        held = merged[LANES:]
    found.append(Step(held, "an end: item by item", [], []))
    return found


def picture() -> Figure:
    """The steps above, the network of the first one below."""
    figure = Figure(figsize=(8.0, 5.6), layout="constrained", facecolor=PAPER)
    above, below = figure.subplots(2, 1, height_ratios=(3, 4))
    _draw_steps(above)
    first = steps()[0]
    _draw_network(below, network(first.held, first.taken))
    return figure


def _vector(panel: Any, keys: list[Key], left: float, top: float, gid: str) -> None:
    for lane, (key, run) in enumerate(keys):
        box = Rectangle((left + lane, top), 1, 0.8, facecolor=COLOURS[run], alpha=0.3, gid=f"{gid}-{lane}")
        panel.add_patch(box)
        panel.text(left + lane + 0.5, top + 0.4, str(key), ha="center", va="center", color=INK, fontsize=9)


def _draw_steps(panel: Any) -> None:
    found = steps()
    panel.set_title("a chain: one comparison of two heads for each vector", fontsize=10, loc="left", color=INK)
    panel.set_xlim(-0.5, 27)
    panel.set_ylim(len(found) + 0.1, -1.1)
    panel.axis("off")
    for left, name in ((0, "held"), (6, "next head of each run"), (14, "taken"), (21, "out")):
        panel.text(left, -0.35, name, color=FAINT, fontsize=9)
    for number, step in enumerate(found):
        _vector(panel, step.held, 0, number, f"held-{number}")
        panel.text(6, number + 0.4, step.heads, va="center", color=INK, fontsize=9)
        _vector(panel, step.taken, 14, number, f"taken-{number}")
        _vector(panel, step.out, 21, number, f"out-{number}")


def _draw_network(panel: Any, levels: list[list[Key]]) -> None:
    lanes, apart = len(levels[0]), 4.0
    panel.set_title(
        "the network of the first step: the taken vector is reversed, and each line puts two lanes in order",
        fontsize=10, loc="left", color=INK,
    )  # fmt: skip
    panel.set_xlim(-1.5, apart * 1.5 * (len(levels) - 1) + 3)
    panel.set_ylim(lanes, -1.2)
    panel.axis("off")
    distance = lanes // 2
    for level, keys in enumerate(levels):
        at = level * apart * 1.5
        for lane, (key, run) in enumerate(keys):
            box = Rectangle(
                (at - 0.5, lane - 0.4), 1, 0.8, facecolor=COLOURS[run], alpha=0.3, gid=f"lane-{level}-{lane}"
            )
            panel.add_patch(box)
            panel.text(at, lane, str(key), ha="center", va="center", color=INK, fontsize=9)
        if level == len(levels) - 1:
            break
        panel.text(at + apart * 0.75, -0.9, f"{distance} apart", ha="center", color=FAINT, fontsize=8)
        for lane in range(lanes):
            panel.plot([at + 0.5, at + apart * 1.5 - 0.5], [lane, lane], color=FAINT, linewidth=0.8)
        pairs = [lane for lane in range(lanes) if not lane & distance]
        for place, lane in enumerate(pairs):
            across = at + 1 + (place % distance + 0.5) * (apart * 1.5 - 2) / distance
            panel.plot([across, across], [lane, lane + distance], color=INK, linewidth=1.0, marker="o", markersize=3)
        distance //= 2
    panel.text((len(levels) - 1) * apart * 1.5 + 0.8, 1.5, "out", va="center", color=FAINT, fontsize=9)
    panel.text((len(levels) - 1) * apart * 1.5 + 0.8, 5.5, "held", va="center", color=FAINT, fontsize=9)


def main() -> None:
    with matplotlib.rc_context(_STYLE):
        save_figure(picture(), sys.argv[1])


if __name__ == "__main__":
    main()
