"""The buffers of a block round by round, as a figure: a line for each round, with places as boxes.

Artists carry ids, which an SVG keeps: "0-2-A-3" for place 3 of A's buffer in round 2 of block 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpumerge_cli.report.drawing import FancyBboxPatch, Figure, Line2D, Patch
from gpumerge_cli.results.path import Buffer, BufferSlot, Round

INK, FAINT, PAPER = "#1c1f24", "#5b6270", "#ffffff"
COLOURS = {"A": "#2f6db5", "B": "#c8681a"}
_BOX, _LINE = 0.46, 0.62
"""Inches of a box's side at least, and from one round to the next."""
_LETTER = 0.085
_FRESH, _HELD = 0.38, 0.12
"""The strength of the colour of items that a round loads, and of items that were there before."""


def rounds_figure(rounds: Sequence[Round], title: str) -> Figure:
    """The figure. title: the inputs and the launch."""
    boxes = [max(len(part.places) for part in parts) for parts in zip(*((one.a, one.b) for one in rounds), strict=True)]
    labels = [place.label for one in rounds for part in (one.a, one.b) for place in part.places if place is not None]
    box = max(_BOX, _LETTER * (max(map(len, labels), default=0) + 2))
    out = _LETTER * max(len(_outputs(one)) for one in rounds)
    several = len({one.block for one in rounds}) > 1
    left = {"A": 1.8 if several else 1.2}
    left["B"] = left["A"] + boxes[0] * box + 0.6
    wide, high = left["B"] + boxes[1] * box + 0.4 + out, 0.45 + _LINE * len(rounds)
    figure = Figure(figsize=(max(6.4, wide) + 0.2, high + 1.0), facecolor=PAPER)
    # All lengths are in inches, from the upper left corner.
    panel = figure.add_axes((0, 0, 1, 1))
    panel.set_xlim(-0.1, figure.get_figwidth() - 0.1)
    panel.set_ylim(figure.get_figheight() - 0.1, -0.1)
    panel.axis("off")
    panel.text(0, 0.1, title, fontsize=9, color=FAINT, va="center", parse_math=False)
    for which, count in zip("AB", boxes, strict=True):
        for place in range(count):
            panel.text(left[which] + (place + 0.5) * box, 0.42, str(place), fontsize=7.5, color=FAINT, ha="center")
        name = f"{which}, place"
        panel.text(left[which] - 0.06, 0.42, name, fontsize=7.5, color=COLOURS[which], ha="right")
    for line, one in enumerate(rounds):
        top = 0.52 + line * _LINE
        heading = f"{f'block {one.block}, ' if several else ''}round {one.number}"
        panel.text(0, top + 0.22, heading, fontsize=9, color=INK, va="center")
        for which, part in (("A", one.a), ("B", one.b)):
            _buffer(panel, part, (left[which], top), box, COLOURS[which], f"{one.block}-{one.number}-{which}")
        behind = left["B"] + boxes[1] * box + 0.2
        panel.text(behind, top + 0.22, _outputs(one), fontsize=9, color=INK, va="center", parse_math=False)
    figure.legend(
        handles=_legend(rounds), loc="lower left", frameon=False, fontsize=8.5, ncols=3, handlelength=1.6
    )  # fmt: skip
    return figure


def _outputs(one: Round) -> str:
    return f"out[{one.first}:{one.first + one.count}] = {' '.join(one.outputs)}"


def _buffer(panel: Any, part: Buffer, at: tuple[float, float], box: float, colour: str, name: str) -> None:
    left, top = at
    for number, place in enumerate(part.places):
        _place(panel, place, (left + number * box, top), box, colour, f"{name}-{number}")
    if any(place is not None for place in part.places):
        panel.plot(left + (part.head + 0.5) * box, top - 0.01, "v", color=INK, markersize=4, zorder=5)


def _place(panel: Any, place: BufferSlot | None, at: tuple[float, float], box: float, colour: str, name: str) -> None:
    left, top = at
    shade = "none" if place is None else colour
    strength = _FRESH if place is not None and place.fresh else _HELD
    used = place is not None and place.used
    area = FancyBboxPatch(
        (left + 0.04, top + 0.04), box - 0.08, _LINE - 0.24, boxstyle="round,pad=0,rounding_size=0.05",
        facecolor=shade, alpha=strength if place is not None else None, edgecolor="none", gid=name,
    )  # fmt: skip
    edge = FancyBboxPatch(
        (left + 0.04, top + 0.04), box - 0.08, _LINE - 0.24, boxstyle="round,pad=0,rounding_size=0.05",
        facecolor="none", edgecolor=INK if used else FAINT, linewidth=1.6 if used else 0.5,
        linestyle="-" if place is not None else ":",
    )  # fmt: skip
    panel.add_patch(area)
    panel.add_patch(edge)
    if place is not None:
        weight = "bold" if used else "normal"
        panel.text(
            left + box / 2, top + 0.23, place.label, fontsize=9.5, color=INK, ha="center", va="center", weight=weight,
            parse_math=False,
        )  # fmt: skip


def _legend(rounds: Sequence[Round]) -> list[Any]:
    parts = [part for one in rounds for part in (one.a, one.b)]
    found = Patch(facecolor=FAINT, alpha=_HELD, label="there from the round before")
    rest = "is loaded again later" if any(part.dropped for part in parts) else "stays for the next round"
    return [
        Patch(facecolor=FAINT, alpha=_FRESH, label="loaded by the round"),
        *([found] if any(part.stay for part in parts) else []),
        Patch(facecolor="none", edgecolor=INK, linewidth=1.6, label="merged by the round"),
        Patch(facecolor="none", edgecolor=FAINT, linewidth=0.5, label=rest),
        Line2D([], [], color=INK, marker="v", markersize=4, linestyle="none", label="the first unread item"),
    ]
