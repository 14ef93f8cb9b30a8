"""Record commands in a terminal as a picture: runs them on the samples, and draws what the terminal shows as SVG.

python data/bench/record_terminal.py data/figures/terminal.svg

Each command runs in a pseudoterminal of its own, so it writes colours and its line on speed. Rich draws the text. The
picture names fonts of the reader's machine only, and loads nothing.
"""

from __future__ import annotations

import io
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
COLUMNS = 88
"""The width of the terminal and of the picture."""
COMMANDS = (
    "gpumerge merge --time web.log app.log -q",
    "gpumerge check --field city tuesday.csv",
    "gpumerge generate a.i32 b.i32 --count 25M --seed 1",
    "gpumerge merge a.i32 b.i32 -o c.i32",
    "gpumerge rank --quantile 0.5,99% a.i32 b.i32",
)
"""The commands of the picture, run one after the other in a copy of data/samples."""
SILENT = "gpumerge generate"
"""After a command that begins so, no empty line follows."""
FORM = """<svg xmlns="http://www.w3.org/2000/svg" class="rich-terminal" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{
    font: {char_height}px/{line_height}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""The form that Rich fills: its own, with fonts of the reader's machine in place of one from a network."""


def recorded(command: str, folder: Path) -> str:
    """The text that a terminal of `COLUMNS` columns shows, with its escape sequences, when bash runs the command."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, COLUMNS))
    program = f'gpumerge() {{ {sys.executable} -m gpumerge_cli "$@"; }}; {command}'
    env = {name: value for name, value in os.environ.items() if not name.startswith("GPUMERGE_")}
    env |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    env.pop("COLUMNS", None)
    process = subprocess.Popen(
        ["bash", "--norc", "-c", program], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    process.wait()
    return b"".join(parts).decode().replace("\r\n", "\n")


def picture(shown: list[tuple[str, str]]) -> str:
    """An SVG of a terminal that shows these commands, each with its output."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for number, (command, output) in enumerate(shown):
        if number and not shown[number - 1][0].startswith(SILENT):
            console.print()
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        if output:
            for line in Text.from_ansi(output.rstrip("\n")).split("\n", allow_blank=True):
                # A terminal breaks lines at its edge, and not at blanks.
                for part in line.divide(range(COLUMNS, len(line), COLUMNS)):
                    console.print(part, no_wrap=True)
    svg = console.export_svg(title="gpumerge", code_format=FORM, unique_id="terminal")
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def lines_of(svg: str) -> Iterator[str]:
    """The lines of text that such a picture shows."""
    rows: dict[float, str] = {}
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if element.get("clip-path"):
            y, x = float(element.attrib["y"]), float(element.attrib["x"])
            text = (element.text or "").replace("\xa0", " ")
            width = float(element.attrib["textLength"]) / len(text)
            rows[y] = rows.get(y, "").ljust(round(x / width)) + text
    yield from (rows[y].rstrip() for y in sorted(rows))


def main() -> None:
    (out,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "samples"
        shutil.copytree(ROOT / "data" / "samples", folder)
        Path(out).write_text(picture([(command, recorded(command, folder)) for command in COMMANDS]))


if __name__ == "__main__":
    main()
