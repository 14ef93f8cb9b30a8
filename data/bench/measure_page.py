"""Time what the script of a page takes for each frame while the cut is dragged. Writes markdown.

python data/bench/measure_page.py OUT.md [--chromium /usr/bin/chromium] [--repeat 5]

The page of gpumerge path --html, with the most items that it draws. The cut is moved over every rank, one rank a frame,
as a dragged slider moves it. A time is that of the script, of styles and of layout: by the clock, and of the processor,
which other work on the machine changes less. Needs gpumerge[browser] and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from measured_on import commit

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.explain.page import MOST_ITEMS

GOAL = 8.0
"""Milliseconds: half of a frame at 60 Hz."""
MOVE = """async k => {
  await new Promise(requestAnimationFrame);
  const slider = document.getElementById("rank"), began = performance.now();
  slider.value = k;
  slider.dispatchEvent(new Event("input"));
  document.body.getBoundingClientRect();
  return performance.now() - began;
}"""


def spent(tools: Any) -> float:
    """The processor's seconds in the script, in styles and in layout so far. tools: those of the browser."""
    values = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    return float(sum(values[f"{name}Duration"] for name in ("Script", "RecalcStyle", "Layout")))


def row(name: str, times: list[float]) -> str:
    return f"| {name} | {median(times):.1f} | {times[len(times) * 99 // 100]:.1f} | {times[-1]:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a frame of a page while the cut is dragged.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()

    from playwright.sync_api import sync_playwright

    clock: list[float] = []
    processor: list[float] = []
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        page_file = Path(folder) / "page.html"
        items = [" ".join(str(step * at) for at in range(MOST_ITEMS)) for step in (3, 5)]
        words = ["path", "--items", items[0], "--items", items[1], "--kernel", "circular", "--html", str(page_file)]
        if invoke(words) != 0:
            raise SystemExit("no page was written")
        browser = driver.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        version = browser.version
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(page_file.as_uri())
        tools = page.context.new_cdp_session(page)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        for turn in range(arguments.repeat + 1):
            for rank in range(2 * MOST_ITEMS + 1):
                before = spent(tools)
                by_clock = page.evaluate(MOVE, rank)
                if turn:  # the script is compiled in the first turn
                    clock.append(by_clock)
                    processor.append(1000 * (spent(tools) - before))
        browser.close()
    lines = [
        f"# A frame of the page of a merge path while the cut is dragged, Chromium {version}, commit {commit()}",
        "",
        f"{2 * MOST_ITEMS} items, {len(clock)} frames. The goal is {GOAL:g} ms. The clock also counts other work.",
        "",
        "| ms | median | 99th percentile | slowest |",
        "|---|---|---|---|",
        *(row(name, sorted(times)) for name, times in (("processor", processor), ("clock", clock))),
    ]
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
