"""The documents say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "data/README.md", "kernels/README.md")
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_and_nothing_is_left_to_fill_in(document: Path) -> None:
    text = document.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (document.parent / target).exists(), target
    assert not re.search(r"^(?:FIGURES|FILES|TODO|COMMIT)$|\| COMMIT \|", text, re.MULTILINE)


def test_the_readmes_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    shown = re.search(r"# (\[.*\])", code)
    assert shown is not None
    assert capsys.readouterr().out.strip() == shown[1]


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
