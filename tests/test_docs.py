"""The documents say what is so: links lead somewhere, figures are the results', and what is shown is run."""

from __future__ import annotations

import re
import shutil
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.shown import COLUMNS, Runner, matches, shown_in

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "kernels/README.md")),
    *(ROOT / name for name in ("data/README.md", "data/tutorial.md")),
    *sorted((ROOT / "data" / "manual").glob("*.md")),
]
SHOWING = [ROOT / "README.md", ROOT / "data" / "tutorial.md", *sorted((ROOT / "data" / "manual").glob("*.md"))]

_SET_UP = "python3 -m venv .venv && .venv/bin/pip install -q"
_LITTLE = "--repeat 1 --backend cpu"
INSTEAD = {
    # An environment of its own each: tests/test_wheel.py does the first, the second is how the tests were started.
    f"{_SET_UP} . && .venv/bin/gpumerge merge data/a.i32 data/b.i32 -o merged.i32": "",
    f"{_SET_UP} -e '.[test]' && .venv/bin/python -m pytest -q": "",
    # A home of one's own and the shells: tests/cli/test_completion.py has them.
    "source <(gpumerge --show-completion bash)": "gpumerge --show-completion bash",
    "source <(gpumerge --show-completion zsh)": "gpumerge --show-completion zsh",
    "gpumerge --show-completion fish > ~/.config/fish/completions/gpumerge.fish": "gpumerge --show-completion fish",
    # Minutes of measuring: the same with little to measure. What they write is read by what follows.
    "gpumerge bench --quick": f"gpumerge bench --quick --sizes 2^10 {_LITTLE}",
    "gpumerge bench -o gpu.json -o gpu.md --figures figures": f"gpumerge bench -o gpu.json --sizes 2^10 {_LITTLE}",
    "gpumerge bench --dtypes int32,float64 --sizes 2^10:2^28:4 --shapes uniform,tiny --runs 2,8": (
        f"gpumerge bench --dtypes int32 --sizes 2^12:2^14:4 --shapes uniform,tiny --runs 2,8 -o more.json {_LITTLE}"
    ),
}
"""Commands that are run in another form, or not at all."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_and_nothing_is_left_to_fill_in(document: Path) -> None:
    text = document.read_text()
    for target, anchor in re.findall(r"(?:\]\(|<img src=\")([^)#:\"]+)(?:#([^)]*))?", text):
        assert (document.parent / target).exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", (document.parent / target).read_text(), re.MULTILINE)
            assert anchor in [heading.lower().replace(" ", "-") for heading in headings], anchor
    assert not re.search(r"^(?:FIGURES|FILES|TODO|COMMIT)$|\| COMMIT \|", text, re.MULTILINE)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to work in, with files of the names that documents use."""
    from gpumerge_cli.cli.app import run

    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "data", "data", ignore=shutil.ignore_patterns("results", "figures", "manual"))
    for name in ("a.i32", "b.i32"):
        shutil.copy(f"data/{name}", name)
    for names, options in (
        (["numbers.txt"], ["-n", "--count", "500", "--seed", "7"]),
        (["shuffled.i32"], ["--count", "500", "--shuffled"]),
    ):
        assert run(["generate", *names, *options]) == 0
    Path("january.csv").write_text("ann,3\nbob,10\n")
    Path("february.csv").write_text("joe,7\nann,11\n")
    Path("jobs.toml").write_text(
        '[[job]]\nname = "a"\noperation = "merge"\ninputs = ["a.i32", "b.i32"]\noutput = "jobs.i32"\n'
    )
    shutil.copy("january.csv", "a.csv")
    shutil.copy("february.csv", "b.csv")
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
            assert runner.code == 0, f"{one.command}\n{said}"


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
    assert counts["data/tutorial.md"] >= 25
    assert counts["data/manual/merge.md"] >= 3
    shown = {one.command for document in SHOWING for one in shown_in(document.read_text())}
    assert set(INSTEAD) <= shown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_that_is_shown_runs(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
        exec(compile(code, document.name, "exec"), {})
        shown = re.search(r"# (\[.*\])", code)
        assert shown is not None
        assert capsys.readouterr().out.strip() == shown[1]


def test_toml_that_is_shown_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.cli.app import run

    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "data/manual/configuration.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("gpumerge.toml").write_text(shown)
    assert run(["info", "--config"]) == 0


def test_the_kernels_readmes_commands_give_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex
    from xml.etree import ElementTree

    from gpumerge_cli.cli.app import run

    pytest.importorskip("matplotlib", reason="figures need gpumerge[plot]")
    text = (ROOT / "kernels" / "README.md").read_text()
    commands = re.findall(r"^gpumerge (path .*)$", text, re.MULTILINE)
    assert len(commands) == 3
    (tmp_path / "data" / "figures").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    printed: set[str] = set()
    for command in commands:
        assert run(shlex.split(command)) == 0
        printed |= {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    shown = [
        line for block in re.findall(r"```\n((?:step|round) .*?)```", text, re.DOTALL) for line in block.splitlines()
    ]
    assert len(shown) == 4 + 13
    assert [line for line in shown if " ".join(line.split()) not in printed] == []
    # Not their bytes: those are Matplotlib's, and change with it.
    path = "data/figures/merge-path.svg"
    drawn, kept = ([e.get("id") for e in ElementTree.parse(at / path).iter() if e.get("id")] for at in (tmp_path, ROOT))
    assert {name for name in drawn if "cut" in name} == {name for name in kept if "cut" in name} != set()


def test_the_readmes_gpu_figures_are_the_results() -> None:
    import json

    text = (ROOT / "README.md").read_text()
    shown = re.findall(r"[\d.]+ ms", text.split("## How fast")[1].split("Whole merges of files")[0])
    assert len(shown) > 30
    medians = set()
    for result in (ROOT / "data" / "results").glob("*.json"):
        report = json.loads(result.read_text())
        for row in report.get("rows", []):
            assert row["right"], result
            for digits in ("#.3g", ".0f"):
                medians.add(f"{row['median'] * 1000:{digits}} ms")
    assert [figure for figure in shown if figure not in medians] == []
