"""The page of a merge path: one HTML file that fetches nothing, and a script that draws what Python counted.

Its parts lie in the folder `page`. The content policy allows this style and this script by their hashes, and nothing
else.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any
from xml.etree.ElementTree import Element, tostring

from gpumerge_cli.json_text import dumps
from gpumerge_cli.report.markup import table, tag
from gpumerge_cli.report.notes import compare_notes
from gpumerge_cli.results.compared import CompareReport
from gpumerge_cli.results.page import PageLaunch, PathPage, WarpStep
from gpumerge_cli.results.path import Buffer, Round
from gpumerge_cli.units import format_counted, format_seconds, visible

_FOLDER = Path(__file__).with_name("page")
_SCRIPTS = (
    "data", "corank", "state", "elements", "grid", "cut", "launch", "pieces", "memory", "buffers", "rounds", "times",
    "questions", "main",
)  # fmt: skip
"""In the order in which they use each other."""
_MARK = re.compile(r"@(\w+)@")
_IN_DATA = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}
_SHOWN_ROWS = 40
_PHASES = {"search": "s", "stage": "c", "merge": "m"}


def render(page: PathPage) -> str:
    """The page as HTML."""
    style = _part("page.css")
    script = "\n".join(_part(f"{name}.js") for name in _SCRIPTS)
    search = page.path.search
    assert search is not None
    title = f"The merge path of {_name(page, 0)} and {_name(page, 1)}"
    values = {
        "policy": "; ".join(
            [
                "default-src 'none'",
                f"style-src '{_hash(style)}'",
                f"script-src '{_hash(script)}'",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        ),
        "title": _escaped(title),
        "facts": _escaped(_facts(page)),
        "style": style,
        "script": script,
        "rank": str(search.rank),
        "i": str(search.found.i),
        "j": str(search.found.j),
        "still": _markup(_still(page)),
        "tables": "".join(map(_markup, _tables(page))),
        "data": dumps(_data(page), dense=True).translate(_IN_DATA),
    }
    return _MARK.sub(lambda found: values[found[1]], _part("page.html"))


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _markup(element: Element) -> str:
    return tostring(element, encoding="unicode", method="html")


def _escaped(text: str) -> str:
    return _markup(tag("x", text))[3:-4]


def _name(page: PathPage, which: int) -> str:
    axis = (page.path.a, page.path.b)[which]
    letter = "AB"[which]
    return letter if axis.name == letter else f"{letter}: {PurePath(axis.name).name or axis.name}"


def _facts(page: PathPage) -> str:
    m, n = page.counts
    facts = f"{format_counted(m, 'item')} in A, {format_counted(n, 'item')} in B, {page.path.order}."
    if page.sample > 1:
        facts += f" The page shows a sample, every {page.sample}th item of each. All numbers are for the sample."
    return facts


def _still(page: PathPage) -> Element:
    """The path, the cut and the keys, as a picture that does not move."""
    path, search = page.path, page.path.search
    assert search is not None
    m, n = path.a.count, path.b.count
    cell = max(3.0, min(34.0, 640 / max(1, m, n)))
    left, top = 20 + 8 * max(map(len, path.a.labels), default=1), 20 + 8 * max(map(len, path.b.labels), default=1)
    every = max(1, round(15 / cell))

    def at(i: float, j: float) -> str:
        return f"{left + j * cell:g},{top + i * cell:g}"

    def keys(labels: tuple[str, ...], side: str) -> list[Element]:
        found = []
        for number in range(0, len(labels), every):
            x, y = (
                (left - 8, top + (number + 0.5) * cell + 4)
                if side == "a"
                else (left + (number + 0.5) * cell + 4, top - 6)
            )
            turned = {} if side == "a" else {"transform": f"rotate(-90 {x:g} {y:g})"}
            anchor = "end" if side == "a" else "start"
            found.append(
                tag("text", labels[number], x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, class_=f"axis-{side}", **turned)
            )
        return found

    points = " ".join(at(i, j) for i, j in path.points)
    low, high = max(0, search.rank - n), min(search.rank, m)
    (x1, y1), (x2, y2) = (at(i, search.rank - i).split(",") for i in (low, high))
    x, y = at(search.found.i, search.found.j).split(",")
    width, height = left + n * cell + 12, top + m * cell + 12
    return tag(
        "svg",
        tag("polygon", points=f"{points} {at(0, n)}", class_="ground-a"),
        tag("polygon", points=f"{points} {at(m, 0)}", class_="ground-b"),
        *keys(path.a.labels, "a"),
        *keys(path.b.labels, "b"),
        tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="diagonal"),
        tag("polyline", points=points, class_="path"),
        tag("circle", cx=x, cy=y, r="8", class_="point"),
        width=f"{width:g}",
        height=f"{height:g}",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=f"The merge path, cut at rank {search.rank}: {search.found.i} items of A, {search.found.j} of B",
    )


def _tables(page: PathPage) -> list[Element]:
    """The search, and the accesses of the kernels."""
    path, search = page.path, page.path.search
    assert search is not None
    steps = [
        (str(number), str(s.low), str(s.high), str(s.i), str(s.j), s.b, s.a, "yes" if s.b_first else "no")
        for number, s in enumerate(search.steps, start=1)
    ]
    first, seen = [], set()
    for launch in page.launches:
        if launch.traffic and launch.kernel not in seen:
            seen.add(launch.kernel)
            asked = sum(one.asked for one in launch.traffic)
            moved = 32 * sum(one.sectors for one in launch.traffic)
            first.append((launch.launch, str(asked), str(moved), f"{asked / moved:.0%}" if moved else "-"))
    return [
        tag("h3", f"The search for the cut at rank {search.rank}"),
        table(("step", "low", "high", "i", "j", "B[j-1]", "A[i]", "B[j-1] < A[i]?"), steps[:_SHOWN_ROWS]),
        tag("h3", "What kernels ask of global memory"),
        table(("launch", "bytes asked", "bytes moved in sectors of 32", "used"), first),
        tag("p", f"The order of the items: {path.order}."),
    ]


def _data(page: PathPage) -> dict[str, Any]:
    """The content of the script element that data.js reads."""
    path = page.path
    assert path.search is not None
    return {
        "labels": [[visible(label) for label in axis.labels] for axis in (path.a, path.b)],
        "codes": page.codes,
        "rank": path.search.rank,
        "size": page.size,
        "kernels": page.kernels,
        "launches": [_launch(launch) for launch in page.launches],
        "compared": None if page.compared is None else _times(page.compared),
    }


def _launch(launch: PageLaunch) -> dict[str, Any]:
    return {
        "kernel": launch.kernel,
        "threads": launch.threads,
        "items": launch.items,
        "tile": launch.tile,
        "blocks": launch.blocks,
        "launch": launch.launch,
        "levels": launch.levels,
        "traffic": [
            (one.phase, int(one.store), one.requests, one.lanes, one.asked, one.sectors) for one in launch.traffic
        ],
        "warps": [
            (warp.block, warp.warp, [_step(step) for step in warp.steps]) for warp in launch.warps
        ],
        "allWarps": launch.all_warps,
        "shared": launch.shared,
        "rounds": [_round(one) for one in launch.rounds],
        "bugs": {bug.name: [_round(one) for one in bug.rounds] for bug in launch.bugs},
    }  # fmt: skip


def _step(step: WarpStep) -> tuple[Any, ...]:
    lanes = step.lanes
    while lanes[-1] < 0:
        lanes = lanes[:-1]
    return (
        _PHASES[step.phase],
        step.memory[0],
        int(step.store),
        step.unit,
        step.sectors,
        step.b_from,
        len(step.lanes),
        *lanes,
    )


def _round(one: Round) -> tuple[Any, ...]:
    return one.block, one.first, one.origins, _buffer(one.a), _buffer(one.b)


def _buffer(buffer: Buffer) -> tuple[Any, ...]:
    """kinds: a letter for each place: fresh and used F, fresh f, used u, held h, free "."."""
    kinds = "".join(
        "." if slot is None else ("F" if slot.fresh else "u") if slot.used else "f" if slot.fresh else "h"
        for slot in buffer.places
    )
    places = [-1 if slot is None else slot.index for slot in buffer.places]
    return places, kinds, buffer.head, buffer.loaded, buffer.used, buffer.stay, buffer.dropped


def _times(report: CompareReport) -> dict[str, Any]:
    copy = sorted(report.copy_seconds)[len(report.copy_seconds) // 2]
    rows = [
        {
            "name": row.name,
            "seconds": row.median,
            "text": format_seconds(row.median),
            "role": "library" if row.library else "kernel",
        }
        for row in report.rows
        if row.seconds
    ]
    rows.append({"name": "copy of the same bytes", "seconds": copy, "text": format_seconds(copy), "role": "copy"})
    says = (
        f"All {report.items:,} items of both inputs, merged in memory on {report.backend}: {report.device}. "
        f"A bar is the median of {report.repeat}. Each result was checked first. "
        + " ".join(f"{note[0].upper()}{note[1:]}." for note in compare_notes(report))
    )
    return {"says": says, "rows": rows}
