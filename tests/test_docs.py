"""The documents are true: links lead somewhere, figures are those of the results, and shown commands run."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.select import count_of_gpus
from gpumerge_cli.cli.batch_jobs import commands as operations_of_jobs
from gpumerge_cli.cli.options.commands import COMMAND_NAMES
from gpumerge_cli.order.equals import SETS
from gpumerge_cli.order.key_kinds import TYPED_WORDS
from tests import needs
from tests.shown import COLUMNS, Runner, matches, shown_in
from tests.shown import rows_of as _rows

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gpumerge_cli"
MANUAL = ROOT / "data" / "manual"
RESULTS = ROOT / "data" / "results"
SHOWING = [ROOT / "README.md", *sorted(MANUAL.rglob("*.md"))]
DOCUMENTS = [
    *SHOWING,
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "kernels/README.md", "data/README.md")),
    RESULTS / "README.md",
    *sorted(RESULTS.glob("*/README.md")),
]

_SET_UP = "python3 -m venv .venv && .venv/bin/pip install -q"
_LITTLE = "--repeat 1 --backend cpu"
APP = """{"at":"2024-03-01T12:00:00Z","event":{"id":3},"user":{"name":"ann"}}
{"at":"2024-03-01T13:00:00Z","event":{"id":7},"user":{"name":"bob"}}
"""
INSTEAD = {
    # An environment of its own each: tests/test_wheel.py does the first, the second is how the tests were started.
    f"{_SET_UP} . && .venv/bin/gpumerge merge data/samples/a.i32 data/samples/b.i32 -o merged.i32": "",
    f"{_SET_UP} -e '.[test]' && .venv/bin/python -m pytest -q": "",
    # A home of one's own and the shells: tests/cli/test_completion.py has them.
    "source <(gpumerge --show-completion bash)": "gpumerge --show-completion bash",
    "source <(gpumerge --show-completion zsh)": "gpumerge --show-completion zsh",
    "gpumerge --show-completion fish > ~/.config/fish/completions/gpumerge.fish": "gpumerge --show-completion fish",
    # Machines may lack the locales: tests/cli/test_locale.py makes them.
    "gpumerge sort --locale de_DE.UTF-8 names.txt": "",
    "gpumerge merge --locale env a.txt b.txt -o merged.txt": "",
    # Documents run gpumerge in this process, which has no shell.
    "gpumerge learn --solution basic > puzzles/basic.cu": (
        f"PYTHONPATH={ROOT} {sys.executable} -m gpumerge_cli learn --solution basic > puzzles/basic.cu"
    ),
    # These measure for minutes. Commands with little to measure replace them; later commands read what these write.
    "gpumerge bench --quick": f"gpumerge bench --quick --sizes 2^10 {_LITTLE}",
    "gpumerge bench -o gpu.json -o gpu.md --figures figures": f"gpumerge bench -o gpu.json --sizes 2^10 {_LITTLE}",
    "gpumerge bench --dtypes int32,float64 --sizes 2^10:2^28:4 --shapes uniform,tiny --runs 2,8": (
        f"gpumerge bench --dtypes int32 --sizes 2^12:2^14:4 --shapes uniform,tiny --runs 2,8 -o more.json {_LITTLE}"
    ),
}
"""Commands that are run in another form, or not at all."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_and_nothing_is_left_to_fill_in(document: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:\"]*)(?:#([^)]*))?\)", text):
        place = document.parent / target if target else document
        assert place.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings], anchor
    assert not re.search(r"^(?:FIGURES|FILES|TODO|COMMIT)$|\| COMMIT \|", text, re.MULTILINE)


LOGS = {
    "web1.log": (
        '10.0.0.2 - - [31/Dec/2024:23:59:58 +0000] "GET /a HTTP/1.1" 200 17\n'
        '10.0.0.1 - - [01/Jan/2025:00:00:02 +0000] "GET /b HTTP/1.1" 200 4\n'
    ),
    "web2.log": '10.0.0.7 - - [01/Jan/2025:00:00:00 +0000] "GET /c HTTP/1.1" 200 17\n',
    "app.log": "2024-12-31T23:59:59.25Z INFO start\n",
    "syslog": "Dec 31 23:59:57 web1 sshd[7]: accepted\nJan  1 00:00:03 web1 sshd[7]: closed\n",
}
NEW_YEAR = 1735689605
"""Seconds since 1970: 2025-01-01T00:00:05Z."""
USERS = "0xff,1a,10 MB,1h30m,10.0.0.1,high\n10,2B,1.5GiB,90s,[::1]:80,low\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to work in, with files of the names that documents use."""
    from gpumerge_cli.cli.app import invoke

    pyarrow, parquet = needs.library("pyarrow"), needs.library("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    for name in ("samples", "results"):
        shutil.copytree(ROOT / "data" / name, f"data/{name}")
    for name in ("a.i32", "b.i32"):
        shutil.copy(f"data/samples/{name}", name)
    for names, options in (
        (["numbers.txt"], ["-n", "--count", "500", "--seed", "7"]),
        (["shuffled.i32"], ["--count", "500", "--shuffled"]),
    ):
        assert invoke(["generate", *names, *options]) == 0
    for name in ("users.csv", "users.txt"):
        Path(name).write_text("id,code,size,took,address,priority\n" * (name[-1] == "v") + USERS)
    Path("priorities.txt").write_text("high\nlow\n")
    Path("ids.txt").write_text("ff\n0x10\n\n1a\n")
    Path("january.csv").write_text("ann,3\nbob,10\n")
    Path("february.csv").write_text("joe,7\nann,11\n")
    Path("jobs.toml").write_text(
        '[[job]]\nname = "a"\noperation = "merge"\ninputs = ["a.i32", "b.i32"]\noutput = "jobs.i32"\n'
    )
    shutil.copy("january.csv", "a.csv")
    shutil.copy("february.csv", "b.csv")
    Path("monday.csv").write_text('city,amount\n"Rome, Italy",7\nOslo,40\n')
    Path("tuesday.csv").write_text("city,amount\nOslo,9\nParis,10\n")
    Path("north.csv").write_text("city,amount\nOslo,40.50\nRome,7\n")
    Path("south.csv").write_text("city,amount\nOslo,0.25\n")
    Path("counts.txt").write_text("      2 b\n      1 a\n")
    for name, text in LOGS.items():
        Path(name).write_text(text)
    os.utime("syslog", (NEW_YEAR, NEW_YEAR))
    Path("orders.csv").write_text("when,what\n01/12/2024,tea\n03/11/2024,rice\n")
    Path("visits.csv").write_text("at,who\n2024-12-01T10:00:00Z,ann\n")
    Path("trades.csv").write_text("sym,at,price\nAB,2024-12-01T10:00:00Z,7\n")
    Path("quotes.csv").write_text("sym,at,bid\nAB,2024-12-01T09:59:00Z,6\n")
    Path("orders2.csv").write_text("at,what\n2024-12-01 11:00:00+01:00,tea\n")
    for name, ids in (("monday", [1, 3, 3, 7]), ("tuesday", [2, 3, 9]), ("hour-00", [1, 2]), ("hour-01", [3, 4])):
        table = pyarrow.table({"id": ids, "name": [f"name {number}" for number in range(len(ids))]})
        parquet.write_table(table, f"{name}.parquet", sorting_columns=[parquet.SortingColumn(0)])
    for name, other in (("january", "price"), ("february", "amount")):
        parquet.write_table(pyarrow.table({"id": [1, 2], other: [3, 4]}), f"{name}.parquet")
    table = pyarrow.table({"day": [1, 1], "id": [1, 2], "person": [1, 2], "town": ["oslo", "rome"]})
    for name in ("people", "towns", "yesterday", "today"):
        parquet.write_table(table, f"{name}.parquet")
    with pyarrow.OSFile("towns.arrow", "wb") as out, pyarrow.ipc.new_file(out, table.schema) as stream:
        stream.write_table(table)
    trades = np.array([(7, 1.5), (3, 2.5)], [("id", "u4"), ("price", "f8")])
    np.save("trades1.npy", trades)
    np.save("trades2.npy", trades)
    people = np.array([(1, b"ada", 4), (2, b"bob", 5)], [("id", "i4"), ("name", "S4"), ("person", "i4")])
    for name in ("people", "towns", "old", "new"):
        np.save(f"{name}.npy", people)
    for name, size in (("a.bin", 32), ("b.bin", 48), ("yesterday.i64", 16), ("today.i64", 8)):
        Path(name).write_bytes(bytes(size))
    Path("stays.txt").write_text("rome 9 ada\n")
    Path("rooms.txt").write_text("9 red rome\n")
    for name in ("a.txt", "b.txt"):
        Path(f"{name}.gz").write_bytes(gzip.compress(b"1\n2\n"))
    for name in ("january.txt", "february.txt"):
        Path(name).write_text("1\n20\n")
    Path("names").write_text("january.txt\0february.txt\0")
    Path("parts.tsv").write_text('name\tsize\n3" pipe\t9\n')
    for name, number in (("c.csv", 1), ("d.csv", 2)):
        Path(name).write_text(f'id,text\n{number},"a \\"b\\""\n')
    Path("sequences.fa").write_text(">b\nGATT\n>a\nACA\n")
    Path("app1.jsonl").write_text(APP)
    Path("app2.jsonl").write_text('{"at":"2024-03-01T09:00:00Z","event":{"id":9},"user":{"name":"joe"}}\n')
    Path("old.csv").write_text("id,name,seen\n1,ann,mon\n2,bob,mon\n4,joe,mon\n")
    Path("new.csv").write_text("id,name,seen\n1,ann,tue\n2,rob,tue\n3,eve,tue\n")
    Path("sales.csv").write_text('city,amount\n"Rome, Italy",7\nOslo,40\n')


@pytest.mark.parametrize("document", SHOWING, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_say_what_is_shown(
    document: Path, files: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", COLUMNS)
    monkeypatch.setitem(sys.modules, "polars", None)  # of libraries that are taken if they are there, none is shown
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.home() / ".cache"))

    def captured() -> str:
        told = capfd.readouterr()
        return told.out + told.err

    runner = Runner(captured)
    commands = list(shown_in(document.read_text()))
    for one, following in zip_longest(commands, commands[1:]):
        command = INSTEAD.get(one.command, one.command)
        if not command:
            continue
        said = runner(command)
        if one.output is not None:
            assert matches(one.output, said), f"{one.command}\n{said}"
        if following is None or following.command != "echo $?":
            differs = command.startswith("gpumerge diff ") and runner.code == 1
            assert runner.code == 0 or differs, f"{one.command}\n{said}"


def test_what_matches() -> None:
    shown = "stage   seconds\n───\nread  1.5 ms  2 MB/s\n...\nend 3\n"
    assert matches(shown, "stage seconds\n────\nread 970 µs 14.2 MB/s\nmore\nand more\nend 3\n")
    assert matches(shown, "stage seconds\n─\nread 970 µs 14.2 MB/s\nend 3\n")
    assert not matches(shown, "stage seconds\n─\nread 970 µs 14.2 MB/s\nend 4\n")
    assert not matches(shown, "stage seconds\n─\nwrite 970 µs 14.2 MB/s\nend 3\n")
    assert not matches("", "more\n")


def test_every_document_that_should_shows_commands() -> None:
    counts = {str(document.relative_to(ROOT)): len(list(shown_in(document.read_text()))) for document in SHOWING}
    assert counts["README.md"] >= 6
    assert counts["data/manual/tutorial.md"] >= 15
    assert counts["data/manual/tutorial-sorts.md"] >= 20
    assert counts["data/manual/tutorial-answers.md"] >= 20
    assert counts["data/manual/commands/merge.md"] >= 3
    shown = {one.command for document in SHOWING for one in shown_in(document.read_text())}
    assert set(INSTEAD) <= shown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_that_is_shown_runs(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
        if "import cupy" in code and not count_of_gpus():
            continue
        exec(compile(code, document.name, "exec"), {})
        shown = re.search(r"# (\[.*\])", code)
        assert shown is not None
        assert capsys.readouterr().out.strip() == shown[1]


def test_toml_that_is_shown_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.cli.app import invoke

    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "data/manual/configuration.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("gpumerge.toml").write_text(shown)
    assert invoke(["info", "--config"]) == 0


def test_the_kernels_readmes_commands_give_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex
    from xml.etree import ElementTree

    from gpumerge_cli.cli.app import invoke

    needs.library("matplotlib")
    text = (ROOT / "kernels" / "README.md").read_text()
    commands = re.findall(r"^gpumerge (path .*)$", text, re.MULTILINE)
    assert len(commands) == 3
    (tmp_path / "data" / "figures").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    printed: set[str] = set()
    for command in commands:
        assert invoke(shlex.split(command)) == 0
        printed |= {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    shown = [
        line for block in re.findall(r"```\n((?:step|round) .*?)```", text, re.DOTALL) for line in block.splitlines()
    ]
    assert len(shown) == 4 + 13
    assert [line for line in shown if " ".join(line.split()) not in printed] == []
    # The bytes are not compared: they change with Matplotlib.
    path = "data/figures/merge-path.svg"
    drawn, kept = ([e.get("id") for e in ElementTree.parse(at / path).iter() if e.get("id")] for at in (tmp_path, ROOT))
    assert {name for name in drawn if "cut" in name} == {name for name in kept if "cut" in name} != set()


def test_the_manuals_gpu_figures_are_the_results() -> None:
    import json

    text = (MANUAL / "speed.md").read_text()
    shown = re.findall(r"[\d.]+ ms", text.split("## Merges in the memory of a CPU")[0])
    assert len(shown) > 30
    medians, shares = set(), set()
    for result in (RESULTS / "h100").glob("*.json"):
        report = json.loads(result.read_text())
        for row in report.get("rows", []):
            assert row["right"], result
            for digits in ("#.3g", ".0f"):
                median = f"{row['median'] * 1000:{digits}} ms"
                medians.add(median)
                shares.add((median, f"{row.get('share_of_copy', 0):.2f}"))
    for cells in _rows((RESULTS / "h100" / "device.md").read_text())[2:]:
        assert cells[7] == "right", cells
        for milliseconds, share in (cells[1], cells[3]), (cells[4], cells[5]):
            if milliseconds:
                median = f"{float(milliseconds):#.3g} ms"
                medians.add(median)
                shares.add((median, f"{float(share):.2f}"))
    assert [figure for figure in shown if figure not in medians] == []
    beside = re.findall(r"([\d.]+ ms)[^|]*\| ([\d.]+) (?=\|)", text.split("## Merges in the memory of a CPU")[0])
    assert len(beside) > 30
    assert [pair for pair in beside if pair not in shares] == []


def test_figures_of_narrow_keys_are_the_results() -> None:
    """Those of calls and those of gpumerge bench, which has as many items of all types."""
    import json

    rows = {cells[0]: cells for cells in _rows((RESULTS / "h100" / "device.md").read_text())}
    of_calls = [rows[f"merge {name} uniform"] for name in ("int16 2^28", "uint8 2^29")]
    merges, copies = ([f"{float(cells[at]):.3f}" for cells in of_calls] for at in (1, 2))
    text = " ".join((ROOT / "kernels" / "README.md").read_text().split())
    assert f"random keys now take {merges[0]} and {merges[1]} ms" in text
    assert f"The copies take {copies[0]} and {copies[1]} there" in text
    report = json.loads((RESULTS / "h100" / "bench-dtypes.json").read_text())
    found = {row["items"]: row for row in report["rows"] if row["name"] == "path"}
    assert {found[name]["size"] for name in ("int16", "uint8")} == {1 << 28}
    text = " ".join((MANUAL / "speed.md").read_text().split())
    for name in ("int16", "uint8"):
        median, share = found[name]["median"] * 1000, found[name]["share_of_copy"]
        assert re.search(rf"{name} (took )?{median:#.3g} ms( there)?, {share:.2f} of copy", text), name


def test_the_manuals_figures_of_files_are_the_results() -> None:
    import json

    shown = re.findall(r"([\d.]+) s \(([\d.]+)\)", (MANUAL / "speed.md").read_text())
    assert len(shown) >= 30
    rows = json.loads((RESULTS / "epyc" / "files.json").read_text())["measured"]
    measured = {(f"{row['wall']:.2f}", f"{row['fastest']:.2f}") for row in rows}
    assert [pair for pair in shown if pair not in measured] == []


def test_the_manuals_figures_of_batches_are_the_results() -> None:
    measured = {cells[2] for cells in _rows((RESULTS / "epyc" / "batch.md").read_text())}
    for page, heading in (("batches.md", "**Small jobs.**"), ("speed.md", "A thousand merges")):
        paragraph = (MANUAL / page).read_text().split(heading)[1].split("measured]")[0].split("all]")[0]
        shown = re.findall(r"([\d.]+) s\b", paragraph)
        assert len(shown) >= 2
        assert set(shown) <= measured, page


def test_results_beside_cccl_name_its_version() -> None:
    import json

    compared = 0
    for result in RESULTS.glob("*/*.json"):
        report = json.loads(result.read_text())
        names = [row["name"] for row in report.get("rows", []) if isinstance(row, dict) and "name" in row]
        if any(name.startswith("cccl") for name in names):
            compared += 1
            assert re.fullmatch(r"\d+\.\d+\.\d+", report["environment"]["CCCL"]), result
    assert compared > 3


def test_each_machines_folder_tells_of_each_of_its_files() -> None:
    from fnmatch import fnmatch

    folders = [path for path in RESULTS.iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        told = re.findall(r"`([^` ]+)`", "".join(cells[0] for cells in _rows((folder / "README.md").read_text())))
        for file in folder.iterdir():
            assert file.name == "README.md" or any(fnmatch(file.name, one) for one in told), file


def _tutorial() -> str:
    """Both pages of the tutorial that explain."""
    return "".join((MANUAL / name).read_text() for name in ("tutorial.md", "tutorial-sorts.md"))


def test_the_code_that_the_tutorial_shows_is_the_kernels() -> None:
    sources = [path.read_text() for path in (ROOT / "kernels").rglob("*.cu*")]
    shown = re.findall(r"```cpp\n(.*?)```", _tutorial(), re.DOTALL)
    assert len(shown) == 7
    assert [code for code in shown if not any(code in source for source in sources)] == []


def test_the_names_in_the_tutorials_table_are_the_kernels() -> None:
    """Each row that leads to a file and a name in it."""
    text = (MANUAL / "tutorial-book.md").read_text()
    places = re.findall(r"`(\w+\.cuh?)`, `([\w:]+)`", text)
    assert len(places) >= 9
    for file, name in places:
        (place,) = (ROOT / "kernels").rglob(file)
        source = place.read_text()
        assert all(re.search(rf"\b{part}\b", source) for part in name.split("::")), (file, name)


def test_the_tutorial_has_an_answer_that_is_run_for_each_exercise() -> None:
    numbers = list("123456789")
    assert re.findall(r"^\*\*Exercise (\d): ", _tutorial(), re.MULTILINE) == numbers
    _, *each = re.split(r"^## (?=\d\. )", (MANUAL / "tutorial-answers.md").read_text(), flags=re.MULTILINE)
    assert [answer[0] for answer in each] == numbers
    for answer in each:
        shown = any(one.command.startswith("gpumerge ") for one in shown_in(answer))
        assert shown or re.search(r"See the\s.*table of answer 5", answer), answer


def test_contributing_names_files_that_exist() -> None:
    """Its paths begin at the root or in gpumerge_cli. Words in capitals stand for names that the reader chooses."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    words = re.findall(r"[\w./-]+", " ".join(re.findall(r"```\n.*?```|`[^`\n]+`", text, re.DOTALL)))
    paths = {word for word in words if re.fullmatch(r"[a-z_][a-z0-9_./-]*(/|\.(py|cuh|cu|hpp|h|sh))", word)}
    assert len(paths) > 80
    assert [path for path in paths if not (ROOT / path).exists() and not (PACKAGE / path).exists()] == []


def test_the_map_has_all_rooms() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## The map")[1].split("\n## ")[0]
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {room for room in rooms if f"| `{room}/` |" not in text} == set()


def test_the_kernels_readme_names_each_of_their_files() -> None:
    text = (ROOT / "kernels" / "README.md").read_text()
    files = [path for folder in (".", "gpu") for path in (ROOT / "kernels" / folder).glob("*.[ch]*")]
    assert [file.name for file in files if f"`{file.name}`" not in text] == []


def test_the_glossary_names_the_file_of_each_term() -> None:
    rows = _rows((ROOT / "CONTRIBUTING.md").read_text().split("## Glossary")[1].split("\n## ")[0])[2:]
    assert len(rows) > 30
    assert len({term for term, _, _ in rows}) == len(rows)
    for term, _, file in rows:
        place = next(folder / file.strip("`") for folder in (ROOT, PACKAGE) if (folder / file.strip("`")).exists())
        assert re.search(term.replace("-", ".?"), place.read_text(), re.IGNORECASE), (term, file)


def test_the_manual_leads_to_each_of_its_pages() -> None:
    linked = set(re.findall(r"\]\(([^)#]+\.md)", (MANUAL / "README.md").read_text()))
    pages = {str(page.relative_to(MANUAL)) for page in MANUAL.rglob("*.md")} - {"README.md"}
    assert pages <= linked


def test_lists_written_by_hand_are_complete() -> None:
    """Lists of commands, of sets and of kinds of keys, which no program makes."""
    assert set(COMMAND_NAMES) <= _names(_line(ROOT / "README.md", "| [Commands]"))
    operations = re.findall("[a-z]+", _line(MANUAL / "batches.md", "operation ="))
    assert set(operations_of_jobs()) <= set(operations)
    assert {f"gpumerge {name} A B" for name in SETS} <= _names((MANUAL / "sets.md").read_text())
    assert set(SETS) <= _names((MANUAL / "python.md").read_text())
    assert set(TYPED_WORDS) <= _names((MANUAL / "keys.md").read_text())


def _line(document: Path, start: str) -> str:
    return next(line for line in document.read_text().splitlines() if line.startswith(start))


def _names(text: str) -> set[str]:
    """The texts between backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))
