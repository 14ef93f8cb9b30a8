"""The figures of a GPU in the documents are those of data/results/h100, row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests import needs

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "data" / "results" / "h100"
SPEED = (ROOT / "data" / "manual" / "speed.md").read_text()
KERNELS = (ROOT / "kernels" / "README.md").read_text()
Table = dict[str, list[str]]


def section(text: str, heading: str) -> str:
    """The text below a heading, up to the next one."""
    return text.split(f"\n{heading}\n")[1].split("\n## ")[0]


def rows(text: str) -> Table:
    """The cells of all rows of tables, by the first cell."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|-")]
    return {first: rest for first, *rest in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)}


def result(name: str) -> Table:
    """The rows of a result in Markdown."""
    return rows((RESULTS / name).read_text())


def bench(name: str, contestant: str, items: str, shape: str = "uniform") -> dict[str, Any]:
    """A row of a result of gpumerge bench."""
    every = json.loads((RESULTS / f"bench-{name}.json").read_text())["rows"]
    (found,) = (row for row in every if (row["name"], row["items"], row["shape"]) == (contestant, items, shape))
    return found  # type: ignore[no-any-return]


OF_BENCH = {
    "2^28 int32, random": ("dtypes", "int32", "uniform"),
    "2^28 int32, in blocks": ("shapes", "int32", "blocky"),
    "2^28 int32, 16 values": ("shapes", "int32", "few"),
    "2^28 int32, disjoint": ("shapes", "int32", "disjoint"),
    "2^28 int32, all equal": ("shapes", "int32", "equal"),
    "2^28 int32, the second within a narrow part of the first": ("shapes", "int32", "one-sided"),
    "2^28 int32, a tiny second run": ("shapes", "int32", "tiny"),
    "2^28 int64, random": ("dtypes", "int64", "uniform"),
    "2^28 float32, random": ("dtypes", "float32", "uniform"),
    "2^28 float64, random": ("dtypes", "float64", "uniform"),
}
OF_CALLS = {
    "2^27 int64, in blocks of 700 and 1,300": "merge int64 2^27 blocky",
    "2^27 int64, 16 values": "merge int64 2^27 few",
    "2^27 int64, all equal": "merge int64 2^27 equal",
    "2^27 int64, disjoint": "merge int64 2^27 disjoint",
    "2^27 int64, one run of 1,000 items": "merge int64 2^27 tiny",
    "2^28 int16, random": "merge int16 2^28 uniform",
    "2^29 uint8, random": "merge uint8 2^29 uniform",
    "2^27 int32 with 4 bytes each, `values=`": "merge(values=) int32 + 4 bytes 2^27",
    "2^27 int64 with 4 bytes each": "merge(values=) int64 + 4 bytes 2^27",
    "2^27 int64 with 8 bytes each": "merge(values=) int64 + 8 bytes 2^27",
}


def test_each_row_of_merges_is_its_own_result() -> None:
    table = rows(section(SPEED, "## Merges in the memory of a GPU").split("The whole ladder")[0])
    calls = result("device.md")
    del table["two runs"]
    assert set(table) == {*OF_BENCH, *OF_CALLS}
    for title, shown in table.items():
        if title in OF_BENCH:
            name, items, shape = OF_BENCH[title]
            found = [bench(name, contestant, items, shape) for contestant in ("path", "cccl")]
            cells = [(row["median"] * 1000, row["share_of_copy"]) for row in found]
        else:
            row = calls[OF_CALLS[title]]
            cells = [(float(row[0]), float(row[2])), (float(row[3]), float(row[4]))]
        assert shown == [text for ms, share in cells for text in (f"{ms:#.3g} ms", f"{share:.2f}")], title


def test_each_row_of_the_ladder_is_its_own_result() -> None:
    names = {"CCCL's merge": "cccl", "cupy.sort of both": "cupy.sort"}
    names |= {f"tiled, {load} loading": f"tiled {load}" for load in ("full", "exact")}
    table = rows(section(SPEED, "## Merges in the memory of a GPU").split("The whole ladder")[1])
    del table[""]
    assert len(table) == 8
    for title, shown in table.items():
        found = [bench("ladder", names.get(title, title), items) for items in ("int32", "int64")]
        cells = [(f"{row['median'] * 1000:#.3g} ms", f"{row['share_of_copy']:.2f}") for row in found]
        assert shown == [text for pair in cells for text in pair], title
    names |= {"path, vector loads, as on older devices": "path, vector loads", "CCCL 3.6.0's merge": "cccl"}
    table = rows(section(KERNELS, "## What it costs and gains").split("###")[0])
    del table[""]
    assert len(table) == 7
    for title, shown in table.items():
        found = [bench("ladder", names.get(title, title), items) for items in ("int32", "int64")]
        assert shown[:2] == [f"{row['share_of_copy']:.2f}" for row in found], title


def test_each_row_of_sorts_is_its_own_result() -> None:
    table, calls = rows(section(SPEED, "## Sorts in the memory of a GPU")), result("device.md")
    del table[""]
    assert len(table) == 13
    for title, shown in table.items():
        count, dtype = title.split()
        row = calls[f"sort {dtype} {count}"]
        assert shown == [f"{float(row[0]):#.3g} ms", f"{float(row[3]):#.3g} ms", row[5]], title
    text = " ".join(section(SPEED, "## Sorts in the memory of a GPU").split())
    assert all(float(shown[2]) >= 1 for shown in table.values())
    shown = rows(section(KERNELS, "### Few keys of arrays, by rank"))
    by_rank = "by rank; at 2^18 by digits, where each pass begins while the one before it still runs"
    for title, at in ((by_rank, 0), ("CCCL 3.6.0", 3)):
        found = [1000 * float(calls[f"sort int32 2^{power}"][at]) for power in (10, 14, 16, 18)]
        assert shown[title] == [f"{each:.1f}" for each in found]
    ours, theirs = (
        min(row["median"] for row in small_sorts() if row["name"] in names) * 1000
        for names in (("merge", "radix"), ("cccl radix sort", "cccl merge sort"))
    )
    assert f"2^10 int32 take {ours:#.3g} ms, and CCCL takes {theirs:#.3g} ms" in text


def small_sorts() -> Iterator[dict[str, Any]]:
    """The rows of gpumerge bench for sorts of 2^10 items."""
    for row in json.loads((RESULTS / "bench-small-sorts.json").read_text())["rows"]:
        if row["size"] == 1 << 10:
            yield row


def test_each_row_of_first_uses_is_its_own_result() -> None:
    works = {
        "`merge` of 2 x 2^20 int32": "merge, 2 arrays of 1048576 int32",
        "`merge` of 2 x 2^25 int32": "merge, 2 arrays of 33554432 int32",
        "`sort` of 2^24 int32": "sort, 16777216 int32",
        "`gpumerge merge`, int32": "gpumerge merge, int32",
        "`gpumerge sort`, int32": "gpumerge sort, int32",
        "`gpumerge sort -m`, lines": "gpumerge sort -m, lines bytewise",
        "`gpumerge sort`, lines": "gpumerge sort, lines bytewise",
        "`gpumerge sort -n`, lines": "gpumerge sort, lines -n",
    }
    table, measured = rows(section(SPEED, "## First uses of a GPU")), result("start.md")
    del table["work"]
    assert set(table) == set(works)
    for title, shown in table.items():
        row = measured[works[title]]
        for seconds, exact in zip(shown, (row[0], row[1], row[3]), strict=True):
            assert abs(float(seconds) - float(exact)) < 0.0051, title


def test_each_cell_of_files_is_its_own_result() -> None:
    measured = {}
    for file, known in ("text-merges.md", ()), ("file-sorts.md", ("16",)):
        for line in (RESULTS / file).read_text().splitlines():
            if line.startswith("| ") and "median" not in line:
                case, *told = (cell.strip() for cell in line.strip("|").split("|"))
                cores, command, median, *_ = (*known, *told)
                measured[case, cores, command] = median
    cases = {
        "merge 1 GB of access log lines, bytewise": ("1.02 GB of access log lines, bytewise", "16"),
        "merge 1 GB of numbers, `-n`": ("1.00 GB of numbers, -n", "16"),
        "merge 1 GB of CSV, `-k2,2n -t,`": ("1.00 GB of CSV, -k2,2n -t,", "16"),
        "sort 20 M lines, 0.21 GB, bytewise": ("0.21 GB, 20,000,000 lines, bytewise", "16"),
        "sort 20 M lines, 0.21 GB, `-n`": ("0.21 GB, 20,000,000 lines, -n", "16"),
        "sort 1 GB of the sort benchmark's ASCII records": ("1.0 GB of sort benchmark records, ASCII", "16"),
    }
    table = rows(section(SPEED, "## Files on a machine with a GPU"))
    del table["medians"]
    assert set(table) == set(cases)
    for title, shown in table.items():
        case, cores = cases[title]
        theirs = measured[case, cores, "GNU sort"]
        ours = [measured.get((case, number, "gpumerge, cpu"), "") for number in ("2", "16")]
        assert [cell.split(" s")[0] for cell in shown] == [theirs, *ours, measured[case, cores, "gpumerge, gpu"]], title
        (factor,) = re.findall(r"([\d.]+) x", " ".join(shown))
        compared = ours[1] or ours[0]
        assert float(factor) == pytest.approx(float(theirs) / float(compared), abs=0.5 if "." not in factor else 0.05)


def test_each_row_of_sets_is_its_own_result_and_lost_calls_are_told() -> None:
    lines = (RESULTS / "sets.md").read_text().splitlines()
    measured = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]
    by_title = {tuple(row[:3]): row[5:9] for row in measured}
    text = " ".join(section(SPEED, "## Sets in the memory of a GPU").split())
    shapes = {"half of the keys in both": "pairs", "random": "uniform", "16 values": "few"}
    name, dtype, shape = "", "", ""
    for title, shown in list(rows(section(SPEED, "## Sets in the memory of a GPU")).items())[1:]:
        name = re.findall(r"`(\w+)`", title)[0]
        if " of int" in title or " of float" in title or " of uint" in title:
            dtype, shape = re.findall(r"of (\w+), (.*)", title)[0]
        assert [cell.removesuffix(" ms") for cell in shown] == by_title[name, dtype, shapes.get(shape, shape)], title
    alone, calls = ([float(row[at]) / float(row[8]) for row in measured] for at in (5, 7))
    assert f"The device works for {min(alone):.1f} to {max(alone):.1f} of the time of Thrust's call" in text
    assert f"A whole call from Python takes {min(calls):.1f} to {max(calls):.1f} times as long" in text
    assert f"In {sum(share > 1 for share in calls)} of the {len(calls)} measured rows, it is slower" in text
    worst = measured[calls.index(max(calls))]
    assert f"{worst[7]} ms, and {worst[8]} ms for Thrust" in text
    text = " ".join((ROOT / "data" / "manual" / "python.md").read_text().split())
    assert f"the GPU works for {min(alone):.1f} to {max(alone):.1f} of the time of Thrust's call" in text
    assert f"a whole call takes {min(calls):.1f} to {max(calls):.1f} times as long" in text


def test_the_times_of_calls_are_the_results() -> None:
    text = (RESULTS / "calls.md").read_text()
    tables = [rows(part) for part in text.split("| items |")[1:]]
    hosts, following = tables[0::2], tables[1::2]
    every = [row for table in hosts for row in table.values()]
    merges = [float(cell) for row in every for cell in (*row[:2], row[7])]
    sorts = [float(cell) for row in every for cell in (*row[3:5], row[6])]
    both = [float(cell) for row in every for cell in (row[2], row[5])]
    changes = " ".join((ROOT / "CHANGELOG.md").read_text().split())
    assert f"takes the host {min(merges):.0f} to {max(merges):.0f} us for `merge` and `is_sorted`" in changes
    assert f"{min(sorts):.0f} to {max(sorts):.0f} us for `sort` and `argsort`" in changes
    assert f"with values it takes {min(both):.0f} to {max(both):.0f} us" in changes
    few = [f"2^{power}" for power in (10, 12, 14, 16, 18)]
    ours = [float(cell) for table in following for name in few for cell in table[name][:2]]
    theirs = [float(table[name][2]) for table in following for name in few]
    told = " ".join(SPEED.split())
    assert f"calls one after the other take {min(ours):.1f} to {max(ours):.1f} us each" in told
    assert f"C++ takes {min(theirs):.1f} to {max(theirs):.1f} us" in told
    here = following[0]
    quotients = [here[f"2^{power}"][3] for power in (10, 14, 20, 24)]
    assert "is {} at 2^10, {} at 2^14, {} at 2^20 and {} at 2^24".format(*quotients) in told


def test_what_the_profiler_counted_is_the_result() -> None:
    works = {
        "basic": ("merge of int32 by basic", "merge_basic"),
        "tiled, full loading": ("merge of int32 by tiled", "merge_tiled_full"),
        "tiled, exact loading": ("merge of int32 by tiled, exact loading", "merge_tiled_exact"),
        "circular": ("merge of int32 by circular", "merge_circular"),
        "partition, for path": ("merge of int32 by path", "partition"),
        "path": ("merge of int32 by path", "merge_path"),
        "CCCL's partition": ("CCCL's merge of int32", "device_partition_merge_path_kernel"),
        "CCCL's merge": ("CCCL's merge of int32", "device_merge_kernel"),
        **{f"path, {runs} runs in one pass": (f"merge of {runs} runs of int32", "merge_path") for runs in (4, 8, 16)},
    }
    works |= {"merge of int32": works["path"]}
    lines = [line.strip("|").split(" | ") for line in (RESULTS / "profile.md").read_text().splitlines()]
    measured = {(cells[0].strip(), cells[1]): cells[3:9] for cells in lines if len(cells) > 8}
    tables = [part for part in re.split(r"\n\n", KERNELS) if part.startswith("| | read, MB")]
    assert len(tables) == 2
    for table in tables:
        found = rows(table)
        del found[""]
        assert len(found) in (7, 11)
        for title, shown in found.items():
            read, written, _, *rest = measured[works.get(title, (title, "walk"))]
            expected = [float(cell.strip("| ")) for cell in (read, written, *rest)]
            for cell, number in zip(shown, expected, strict=True):
                digits = len(cell.partition(".")[2])
                assert abs(float(cell.replace(",", "")) - number) <= 0.501 * 10**-digits, title


def test_the_times_of_many_runs_are_the_results() -> None:
    def of(text: str) -> list[tuple[str, str, str, str]]:
        found, items = [], ""
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) > 3 and cells[1].replace(",", "").isdigit():
                items = cells[0] or items
                found.append((items, *(cell.split(" (")[0] for cell in cells[1:4])))
        return found

    shown = of(KERNELS.split("### More than 16 runs")[1].split("## Sort")[0])
    assert len(shown) == 16
    assert sorted(shown) == sorted(of((RESULTS / "many-runs.md").read_text()))


def test_the_times_of_merges_of_several_runs_are_the_results() -> None:
    calls, text = result("device.md"), " ".join(KERNELS.split())
    ms = [f"{float(calls[f'merge int32 2^28, {runs} runs'][0]):#.3g}" for runs in (4, 8, 16)]
    assert f"cuts included, take {ms[0]}, {ms[1]} and {ms[2]} ms" in text


def test_the_first_and_the_last_step_of_merges_are_the_results() -> None:
    lines = (RESULTS.parent / "h200" / "merges.md").read_text().split("Narrow integers")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    measured = {row[0]: row[3:5] for row in cells if len(row) == 6 and row[1] == "uniform"}
    names = ["2^28 int32", "2^28 float32", "2^27 float64", "2^26 int32"]
    table = list(
        rows(KERNELS.split("### Merges of two runs, step by step")[1].split("## Merges of several")[0]).items()
    )
    steps = [shown for title, shown in table if len(shown) == 4]
    assert steps[0] == names
    assert [steps[1], steps[-1]] == [[measured[name][at] for name in names] for at in (0, 1)]


def test_sizes_at_which_merges_have_other_kernels_are_those_of_the_policy() -> None:
    columns = needs.module("backends.gpu.columns")
    from gpumerge_cli.backends.gpu.merging import OWN_CUTS
    from gpumerge_cli.backends.gpu.policy import resolve
    from gpumerge_cli.backends.limits import TUNED_ON
    from gpumerge_cli.launch import FAN_INS, LaunchRequest
    from gpumerge_cli.order.kinds import Order

    orders = [Order.of(name) for name in ("uint8", "int16", "int32", "int64", "float16", "float32", "float64")]
    most = []
    for order in orders:
        for runs in FAN_INS:
            for moved in (order, *(columns.Columns(order, runs, size).order for size in (1, 4, 8, 100))):
                tile = resolve(LaunchRequest(), moved, TUNED_ON, runs).tile_size
                most.append(OWN_CUTS * TUNED_ON.multiprocessors * tile / 1e6)
    text = (ROOT / "data" / "manual" / "python.md").read_text()
    assert f"once, at {min(most):.1f} to {max(most):.0f} million items on an H200" in text


def test_small_sorts_take_as_few_launches_as_the_changelog_says(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = needs.module("backends.gpu.prepared")
    from gpumerge_cli.backends.gpu import module, recording
    from gpumerge_cli.backends.gpu.rank_sort import most_by_rank
    from gpumerge_cli.backends.limits import TUNED_ON
    from gpumerge_cli.order.kinds import Order
    from tests.fake_driver import put_driver

    launched = put_driver(monkeypatch).launched
    monkeypatch.setattr(module, "begin_compiling", lambda *unit: None)
    monkeypatch.setattr(module, "_function", lambda *unit: SimpleNamespace(ptr=9))
    monkeypatch.setattr(prepared, "gpu_kernels", module.Kernels)
    for each in (prepared, recording):
        monkeypatch.setattr(each, "current_stream", lambda: 0)
        monkeypatch.setattr(each, "scratch", lambda nbytes: SimpleNamespace(ptr=1 << 40))
    text = " ".join((ROOT / "CHANGELOG.md").read_text().split())
    assert (
        "Sorts of up to 6,144 items take one launch, of up to 16,384 two, and others that go by rank at most three: up "
        "to 2^17 integers of 32 bits, and 2^18 keys of 64 without values."
    ) in text
    for dtype in ("int8", "int16", "int32", "float32", "uint64", "float64"):
        for value_bytes in (None, 1, 4, 8, 100):
            call = prepared.prepare("sort", Order.of(dtype), 1, value_bytes, device=0, limits=TUNED_ON)
            by_rank = most_by_rank(Order.of(dtype), None if value_bytes is None else MagicMock())
            assert by_rank == 1 << 17 or dtype != "int32"
            assert by_rank == 1 << 18 or dtype != "uint64" or value_bytes
            for count, most in {6144: 1, min(1 << 14, by_rank): 2, by_rank: 3}.items():
                launched.clear()
                assert call.takes(count)
                call([0, 1 << 41, *([1 << 42, 1 << 43] if value_bytes else [])], [count], count)
                assert len(launched) <= most, (dtype, value_bytes, count)


@pytest.mark.thorough
def test_the_figures_of_a_gpu_are_drawn_from_its_results(tmp_path: Path) -> None:
    """The numbers that they show are compared, and not the bytes: those change with Matplotlib."""
    needs.library("matplotlib")
    from gpumerge_cli.cli.app import invoke

    (command,) = re.findall(
        r"^gpumerge (bench --render .*) --figures data/figures$", (ROOT / "data/README.md").read_text(), re.M
    )
    (names,) = re.findall(r"bench-\{(.*)\}\.json", command)
    results = [str(RESULTS / f"bench-{name}.json") for name in names.split(",")]
    assert invoke(["bench", "--render", *results, "--figures", str(tmp_path)]) == 0
    drawn = sorted(tmp_path.glob("*.svg"))
    assert len(drawn) == 5
    for figure in drawn:
        told, kept = (
            re.findall(r"<!-- (\d+\.\d\d|\d+ \(\d\.\d\d\)) -->", (folder / figure.name).read_text())
            for folder in (tmp_path, ROOT / "data" / "figures")
        )
        assert told == kept, figure.name
