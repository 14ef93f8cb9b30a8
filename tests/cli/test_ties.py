"""Lines with equal keys: where they go, and which orders of them the commands take."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.options.commands import COMMANDS

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.csv").write_text("t,who\n1,zoe\n2,yan\n")
    Path("old.csv").write_text("t,who\n1,bob\n2,ann\n")
    Path("loose.csv").write_text("t,who\n1,bob\n1,ann\n2,cy\n")
    Path("other.csv").write_text("t,who\n1,dan\n3,eve\n")


@pytest.mark.parametrize("stable", [[], ["-s"], ["--stable"]])
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("merge -q --field t:n new.csv old.csv", "1,zoe 1,bob 2,yan 2,ann"),
        ("merge -q --field t:n loose.csv other.csv", "1,bob 1,ann 1,dan 2,cy 3,eve"),
        ("union -q --field t:n loose.csv other.csv", "1,bob 1,ann 2,cy 3,eve"),
        ("merge -q -u --field t:n loose.csv other.csv", "1,bob 2,cy 3,eve"),
        ("rank --field t:n loose.csv other.csv --range 1:4", "1,ann 1,dan 2,cy"),
    ],
)
def test_equal_keys_keep_the_order_of_the_files(
    words: str, wanted: str, stable: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke([*words.split(), *stable]) == 0
    assert capfd.readouterr().out.split() == ["t,who", *wanted.split()]


def test_a_check_asks_for_the_order_of_the_key_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "--field", "t:n", "loose.csv"]) == 0
    assert invoke(["check", "--field", "t:n", "--last-resort", "loose.csv"]) == 1
    told = "with equal keys; the file is in the order of its keys: leave --last-resort out\n"
    assert told in capfd.readouterr().err
    # The command sort stays that of GNU.
    assert invoke(["sort", "-c", "--field", "t:n", "loose.csv"]) == 1
    assert invoke(["sort", "-c", "-s", "--field", "t:n", "loose.csv"]) == 0


def test_a_merge_by_sort_proposes_its_own_option(capfd: pytest.CaptureFixture[str]) -> None:
    Path("loose.txt").write_text("1 b\n1 a\n")
    assert invoke(["sort", "-m", "--count", "-n", "loose.txt"]) == 2
    assert capfd.readouterr().err.endswith("the file is in the order of its keys: add -s\n")


def test_jobs_and_settings_have_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {"operation": "merge", "inputs": ["new.csv", "old.csv"], "field": ["t:n"]}
    jobs = [{**inputs, "output": "a.csv"}, {**inputs, "output": "b.csv", "last-resort": True}]
    Path("jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))
    assert invoke(["batch", "-q", "jobs.jsonl"]) == 0
    assert Path("a.csv").read_text().split() == ["t,who", "1,zoe", "1,bob", "2,yan", "2,ann"]
    assert Path("b.csv").read_text().split() == ["t,who", "1,bob", "1,zoe", "2,ann", "2,yan"]
    monkeypatch.setenv("GPUMERGE_MERGE_LAST_RESORT", "true")
    assert invoke(["merge", "-q", "--field", "t:n", "new.csv", "old.csv", "-o", "c.csv"]) == 0
    assert Path("c.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.parametrize(
    "options", [["-k2,2n"], ["-n"], ["-k2,2r", "-k1,1n"], ["-f"], ["-k2,2M"], ["-V"], ["-h", "-r"]]
)
def test_a_merge_is_that_of_gnu_sort(options: list[str], rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 32))
    drawn = random.Random(seed)
    for stable in (["-s"], []):
        names = [f"{at}{'s' * bool(stable)}.txt" for at in range(3)]
        for name in names:
            words = ["a", "B", "b", "JAN", "mar", "7", "07"]
            lines = [f"{drawn.randint(0, 20)} {drawn.choice(words)} {drawn.random()}\n" for _ in range(400)]
            Path(name).write_text("".join(lines))
            gnu(*options, *stable, "-o", name, name)
        asked = [] if stable else ["--last-resort"]
        assert invoke(["merge", "-q", *options, *asked, *names, "-o", "out.txt"]) == 0, seed
        assert Path("out.txt").read_bytes() == gnu("-m", *options, *stable, *names), seed


def gnu(*words: str) -> bytes:
    return subprocess.run(
        ["sort", *words], env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True
    ).stdout


def test_the_recipe_for_logs_holds_at_the_end_of_a_month_and_of_a_year() -> None:
    """The command that the README shows, on logs whose days, months and years do not sort as bytes."""
    (recipe,) = re.findall(
        r"^gpumerge (merge --time data/samples/web\.log data/samples/app\.log -o all\.log) ",
        (ROOT / "README.md").read_text(),
        re.M,
    )
    times = [
        "30/Sep/2024:23:59:58", "30/Sep/2024:23:59:59", "01/Oct/2024:00:00:01", "09/Oct/2024:10:00:00",
        "10/Oct/2024:09:00:00", "30/Apr/2025:23:59:59", "01/May/2025:00:00:00", "31/Dec/2025:23:59:59",
        "01/Jan/2026:00:00:00",
    ]  # fmt: skip
    lines = [f'10.0.0.{len(times) - at} - - [{time} +0000] "GET /{at}"\n' for at, time in enumerate(times)]
    Path("data/samples").mkdir(parents=True)
    Path("data/samples/web.log").write_text("".join([*lines[::2], lines[-1].replace("GET", "PUT")]))
    Path("data/samples/app.log").write_text("".join(lines[1::2]))
    assert invoke([*shlex.split(recipe), "-q"]) == 0
    assert Path("all.log").read_text() == "".join([*lines, lines[-1].replace("GET", "PUT")])


def test_keys_that_no_line_has_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All lines compare equal then, so files come one after the other."""
    (tmp_path / "a").write_text("a;3\nb;1\n")
    (tmp_path / "b").write_text("a;2\nc;0\n")
    files = [str(tmp_path / name) for name in "ab"]
    told = "its first lines have an empty key, and so compare equal; check -t and the number of the field"
    for arguments in (["merge", "-t,", "-k2,2n"], ["union", "-t,", "-k2,2n"], ["check", "-k5,5"]):
        invoke([*arguments, *files])
        assert told in caplog.text
        caplog.clear()
    invoke(["merge", "-t;", "-k1,1", *files])
    assert told not in caplog.text


NO_NUMBER = "no number in their keys, and so compare equal"


@pytest.mark.parametrize(
    ("arguments", "data", "told"),
    [
        (["merge", "-n"], "abc\nbcd\n", NO_NUMBER),
        (["merge", "-u", "-n"], "abc\nbcd\n", NO_NUMBER),
        (["merge", "-g"], "abc\nbcd\n", NO_NUMBER),
        (["merge", "-h", "-r"], "K\nM\n", NO_NUMBER),
        (["merge", "-M"], "1\n2\n", "no month in their keys"),
        (["union", "-t;", "-k2,2n"], "1;a\n2;b\n", NO_NUMBER),
        (["check", "-n"], "abc\nbcd\n", NO_NUMBER),
        (["join", "-j", "1n"], "abc\nbcd\n", NO_NUMBER),
        (["merge", "--csv", "-k2,2n"], '"1","x,1"\n"2","y,2"\n', NO_NUMBER),
        (["merge", "--field", "name:n"], "id,name\n1,x\n2,y\n", NO_NUMBER),
        (["merge", "--field", "id:n"], 'id,name\n"1","x"\n"2","y"\n', ""),
        (["merge", "-n", "--last-resort"], "abc\nbcd\n", ""),
        (["merge", "-k2,2n", "-k1,1"], "a x\nb y\n", ""),
        (["merge", "-n"], "#\n" * 2000 + "1\n2\n", ""),
        (["merge", "-n"], "#\n" * 600 + "1\n" * 600 + "2b\n" * 600, ""),
        (["merge", "-n"], "abc\n", ""),
        (["merge", "-g"], "-inf\n 0x10\n", ""),
        (["merge", "-M"], " jan\nFEB\n", ""),
    ],
)
def test_keys_without_the_number_that_is_asked_for_are_told(
    arguments: list[str], data: str, told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All lines compare equal then, so files come one after the other, and -u writes one line."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(data)
    assert invoke([*arguments, str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]) == 0
    assert told in caplog.text
    assert ("warning" in caplog.text) == bool(told)


def test_a_join_looks_for_the_keys_of_each_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a").write_text("x y 1\nx y 2\n")
    (tmp_path / "b").write_text("1 x\n2 y\n")
    for options in ((), ("--csv", "-t", " ")):
        assert invoke(["join", "-1", "3", "-2", "1n", *options, str(tmp_path / "a"), str(tmp_path / "b")]) == 0
        assert "warning" not in caplog.text
    assert invoke(["join", "-1", "3", "-2", "2n", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert f"{tmp_path / 'b'}: warning: its first lines have {NO_NUMBER}" in caplog.text


def test_commands_with_keys_take_both_options_for_ties() -> None:
    with_keys = [one for one in COMMANDS if any(option.name == "key" for option in one.options)]
    assert {"merge", "sort", "join", "check", "union", "compare", "rank", "path"} <= {one.name for one in with_keys}
    for one in with_keys:
        assert {"stable", "last-resort"} <= {option.name for option in one.options}, one.name


@pytest.mark.parametrize("options", [[], ["-s"], ["--stable"], ["--last-resort"], ["-s", "--last-resort"]])
def test_a_join_compares_keys_alone(options: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["join", "-q", "--csv", "--field", "t:n", *options, "loose.csv", "other.csv"]) == 0
    assert capfd.readouterr().out == "t,who,who_2\n1,bob,dan\n1,ann,dan\n"


def test_sort_breaks_ties_by_all_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["sort", "--field", "t:n", "--last-resort", "loose.csv"]) == 0
    assert capfd.readouterr().out == "t,who\n1,ann\n1,bob\n2,cy\n"
    assert invoke(["sort", "--field", "t:n", "--last-resort", "-s", "loose.csv"]) == 2
    assert "-s and --last-resort contradict each other" in capfd.readouterr().err
