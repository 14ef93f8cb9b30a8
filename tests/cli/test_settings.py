"""Options from the environment and configuration files: which one wins, which are refused, and that sort stays sort."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.effective import effective_settings
from gpumerge_cli.cli.options.commands import COMMANDS, options_of
from gpumerge_cli.cli.settings import Settings, variable_name
from tests.settings import used

EVERYWHERE = {
    "user": "threads = 1\n[merge]\nthreads = 2\n",
    "project": "\nthreads = 3\n[merge]\nthreads = 4\n",
    "GPUMERGE_THREADS": "5",
    "GPUMERGE_MERGE_THREADS": "6",
}


@pytest.mark.parametrize(
    ("given", "merge", "check"),
    [
        ((), (None, ""), (None, "")),
        (("user",), (2, "config.toml:3"), (1, "config.toml:1")),
        (("user", "project"), (4, "gpumerge.toml:4"), (3, "gpumerge.toml:2")),
        (("user", "project", "GPUMERGE_THREADS"), ("5", "GPUMERGE_THREADS"), ("5", "GPUMERGE_THREADS")),
        (tuple(EVERYWHERE), ("6", "GPUMERGE_MERGE_THREADS"), ("5", "GPUMERGE_THREADS")),
        (("project", "GPUMERGE_MERGE_THREADS"), ("6", "GPUMERGE_MERGE_THREADS"), (3, "gpumerge.toml:2")),
    ],
)
def test_the_nearer_wins(
    place: Callable[..., None], given: tuple[str, ...], merge: tuple[object, str], check: tuple[object, str]
) -> None:
    place(**{name: EVERYWHERE[name] for name in given})
    assert used("merge", "threads") == merge
    assert used("check", "threads") == check


def test_settings_reach_commands_and_flags_win(place: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    place("[merge]\nnumeric-sort = true\nbackend = 'cpu'\n", GPUMERGE_REVERSE="yes", GPUMERGE_QUIET="1")
    Path("a.txt").write_text("10\n9\n")
    Path("b.txt").write_text("11\n2\n")
    assert invoke(["merge", "a.txt", "b.txt"]) == 0
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("11\n10\n9\n2\n", "")
    assert invoke(["merge", "a.txt", "b.txt", "--backend", "gpu", "--device", "99"]) == 2
    assert "gpu" in capfd.readouterr().err.lower()


def test_switches_can_be_taken_back(place: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    place(GPUMERGE_MERGE_UNIQUE="1", GPUMERGE_REVERSE="1", GPUMERGE_QUIET="1", GPUMERGE_DEBUG="1")
    Path("a.txt").write_text("1\n1\n2\n")
    assert invoke(["merge", "a.txt", "--no-unique", "--no-reverse"]) == 0
    assert capfd.readouterr().out == "1\n1\n2\n"
    assert invoke(["merge", "none.txt", "--no-debug"]) == 2
    assert capfd.readouterr().err.count("\n") == 1
    job = {"operation": "merge", "inputs": ["a.txt"], "output": "out.txt", "unique": False, "reverse": False}
    Path("jobs.jsonl").write_text(json.dumps(job))
    assert invoke(["batch", "jobs.jsonl"]) == 0
    assert Path("out.txt").read_text() == "1\n1\n2\n"


def test_what_means_something_else_in_a_command_is_set_for_it_alone(place: Callable[..., None]) -> None:
    place(user="output = 'all.i32'", GPUMERGE_REPORT="last.html")
    assert used("merge", "report") == ("last.html", "GPUMERGE_REPORT")
    assert used("sort", "report") == ("last.html", "GPUMERGE_REPORT")
    assert used("merge", "output")[1] == "config.toml:1"
    for command, name in (("batch", "report"), ("bench", "output"), ("path", "output")):
        assert used(command, name) == (None, "")
    place(user="[bench]\noutput = 'all.json'", GPUMERGE_BATCH_REPORT="lines.jsonl")
    assert used("batch", "report") == ("lines.jsonl", "GPUMERGE_BATCH_REPORT")
    assert used("bench", "output")[1] == "config.toml:2"


def test_a_flag_hides_what_is_wrong_with_a_setting(place: Callable[..., None]) -> None:
    place(GPUMERGE_GENERATE_COUNT="many", GPUMERGE_GENERATE_SEED="x")
    assert invoke(["generate", "a.txt", "--count", "3", "--seed", "1"]) == 0
    assert len(Path("a.txt").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("project", "variables", "arguments", "start", "words"),
    [
        ("", {"GPUMERGE_THREDS": "4"}, ["merge", "a"], "GPUMERGE_THREDS: ", ["GPUMERGE_THREADS"]),
        ("", {"GPUMERGE_THREADS": "four"}, ["merge", "a"], "GPUMERGE_THREADS: ", ["invalid number"]),
        ("", {"GPUMERGE_THREADS": "0"}, ["check", "a"], "GPUMERGE_THREADS: ", ["1"]),
        (
            "",
            {"GPUMERGE_QUIET": "maybe"},
            ["merge", "a"],
            "GPUMERGE_QUIET: ",
            ["$GPUMERGE_QUIET must be true or false", "1 or 0"],
        ),
        ("", {"GPUMERGE_BACKEND": "tpu"}, ["merge", "a"], "GPUMERGE_BACKEND: ", ["$GPUMERGE_BACKEND", "gpu"]),
        ("", {"GPUMERGE_MEMORY": "much"}, ["merge", "a"], "GPUMERGE_MEMORY: ", ["$GPUMERGE_MEMORY", "500M"]),
        ("", {"GPUMERGE_MEMORY": "much"}, ["sort", "a"], "GPUMERGE_MEMORY: ", ["$GPUMERGE_MEMORY", "500M"]),
        ("", {"GPUMERGE_THREADS": "x"}, ["sort", "a"], "GPUMERGE_THREADS: ", ["$GPUMERGE_THREADS", "1 or more"]),
        ("", {"GPUMERGE_SORT_REVERSE": "1"}, ["sort", "a"], "GPUMERGE_SORT_REVERSE: ", []),
        ("", {"GPUMERGE_MERGE_KEY": "'2"}, ["merge", "a"], "GPUMERGE_MERGE_KEY: ", ["quot"]),
        ("", {"GPUMERGE_MERGE_SORT_KEY": "2"}, ["merge", "a"], "SORT_KEY: ", ["mean GPUMERGE_MERGE_KEY?"]),
        ("[merge]\nsort-key = ['2']", {}, ["merge", "a"], "gpumerge.toml:2: ", ["did you mean key?"]),
        ("threads = 4\nthreds = 1", {}, ["merge", "a"], "gpumerge.toml:2: ", ["'threds'", "threads"]),
        ("[marge]\nthreads = 1", {}, ["sort", "a"], "gpumerge.toml:1: ", ["'marge'", "merge"]),
        ("\n[check]\n\nfsync = true", {}, ["info"], "gpumerge.toml:4: ", ["check has no", "'fsync'"]),
        ("[sort]\nunique = true", {}, ["sort", "a"], "gpumerge.toml:2: ", ["sort has no", "'unique'"]),
        ("threads = '4'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["whole number, not '4'"]),
        ("threads = 4.5", {}, ["merge", "a"], "gpumerge.toml:1: ", ["whole number"]),
        ("quiet = 'yes'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["true or false"]),
        ("[merge]\nmemory = true", {}, ["merge", "a"], "gpumerge.toml:2: ", ["text, not true"]),
        ("memory = ['1G']", {}, ["merge", "a"], "gpumerge.toml:1: ", ["text, not a list"]),
        ("threads = \n", {}, ["merge", "a"], "gpumerge.toml:1: ", ["not TOML"]),
        ("a = 1\na = 2", {}, ["merge", "a"], "gpumerge.toml:2: ", ["not TOML"]),
        (f"threads = {'[' * 2000}{']' * 2000}", {}, ["sort", "a"], "gpumerge.toml:1: ", ["too deep"]),
        (f"threads = {'[' * 300}{']' * 300}", {}, ["merge", "a"], "gpumerge.toml:1: ", ["too deep"]),
        (f"threads = {'1' * 5000}", {}, ["merge", "a"], "gpumerge.toml:1: ", ["thousands of digits"]),
        (
            "[sort]\ncompress-program = 'rm'",
            {},
            ["sort", "a"],
            "gpumerge.toml:2: ",
            ["may not set compress-program", "config.toml"],
        ),
        ("random-source = '../../r'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["is outside"]),
        ("random-source = '/etc/r'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["is outside"]),
        ("[merge]\nreport = 'r.json'", {}, ["merge", "a"], "gpumerge.toml:2: ", ["may not set", "config.toml"]),
        ("output = 'a'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["may not set", "config.toml"]),
        ("[merge]\ncluster = 'h:1'", {}, ["merge", "a"], "gpumerge.toml:2: ", ["may not set cluster", "config.toml"]),
        ("[sort]\ncluster = 's.json'", {}, ["sort", "a"], "gpumerge.toml:2: ", ["may not set cluster", "config.toml"]),
        ("cluster = 'h:1'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["may not set cluster"]),
        ("cluster = 'h:1'", {}, ["info"], "gpumerge.toml:1: ", ["may not set cluster"]),
        ("header = 1", {}, ["merge", "a"], "gpumerge.toml:1: ", ["may not set header"]),
        ('[sort]\ntemporary-directory = ["a\\u0000b"]', {}, ["sort", "a"], "gpumerge.toml:2: ", ["holds a NUL"]),
        ("files0-from = 'a'", {}, ["merge"], "gpumerge.toml:1: ", ["may not set files0-from"]),
        ("random-source = 's3://b/k'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["is outside"]),
        ("temporary-directory = '/tmp'", {}, ["merge", "a"], "gpumerge.toml:1: ", ["is outside"]),
        ("joblog = 'a'", {}, ["batch", "a"], "gpumerge.toml:1: ", ["may not set"]),
        ("figures = 'a'", {}, ["bench"], "gpumerge.toml:1: ", ["may not set"]),
        ("[merge]\ndtype = 'int33'", {}, ["merge", "a.i32"], "gpumerge.toml:2: ", ["--dtype 'int33' is no", "int32?"]),
        ("", {"GPUMERGE_DTYPE": "int33"}, ["check", "a.bin"], "GPUMERGE_DTYPE: ", ["--dtype $GPUMERGE_DTYPE is no"]),
        ("[join]\nkey-1 = 'name'", {}, ["join", "a", "b"], "gpumerge.toml:2: ", ["-1: invalid field number 'name'"]),
        ("[join]\nkey-2 = '1,x'", {}, ["join", "a", "b"], "gpumerge.toml:2: ", ["-2: invalid field number 'x'"]),
        ("", {"GPUMERGE_BENCH_SHAPES": "x"}, ["bench"], "GPUMERGE_BENCH_SHAPES: ", ["--shapes: "]),
        ("temporary-directory = ''", {}, ["merge", "a"], "gpumerge.toml:1: ", ["temporary-directory is empty"]),
    ],
)
def test_what_cannot_be_is_one_line_that_says_where(
    place: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    project: str,
    variables: dict[str, str],
    arguments: list[str],
    start: str,
    words: list[str],
) -> None:
    place(project, **variables)
    Path("a").write_text("")
    if arguments == ["info"]:
        arguments = ["info", "--config"]
    assert invoke(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert captured.err.count("\n") == 1
    assert start in captured.err
    for word in words:
        assert word in captured.err


@pytest.mark.parametrize(
    ("name", "command"),
    sorted(
        {
            (variable_name(o.name, c.name), c.name)
            for c in COMMANDS
            for o in c.options
            if o.settable and c.name in ("merge", "sort", "check") and o.kind in ("flag", "number", "numbers", "size")
        }
    ),
)
@pytest.mark.parametrize("value", ["hunter2", "hunter2 '", "hunter2 x"])
def test_a_variables_value_is_not_shown(
    place: Callable[..., None], capsys: pytest.CaptureFixture[str], name: str, command: str, value: str
) -> None:
    place(**{name: value})
    Path("a").write_text("")
    assert invoke([command, "a"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert name in told
    assert "hunter2" not in told


def test_settings_yield_to_what_they_do_not_go_with(
    place: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    place("[merge]\nquiet = true\nbackend = 'cpu'", user="repeat = 1\n[merge]\nreport = 'r.json'\noutput = 'out.txt'")
    Path("a.txt").write_text("a\n")
    assert invoke(["merge", "a.txt", "a.txt", "--plan"]) == 0
    assert json.loads(capfd.readouterr().out)["chunks"]
    assert invoke(["merge", "a.txt", "a.txt", "--compare"]) == 0
    assert json.loads(Path("../../home/gpumerge/r.json").read_text())["repeat"] == 1
    assert not Path("../../home/gpumerge/out.txt").exists()
    assert invoke(["merge", "a.txt", "a.txt"]) == 0
    assert Path("../../home/gpumerge/out.txt").read_text() == "a\na\n"


def test_settings_hold_for_jobs_that_do_not_say_otherwise(
    place: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    place("[merge]\nnumeric-sort = true", "output = 'no.txt'", GPUMERGE_BACKEND="cpu", GPUMERGE_MEMORY="64M")
    Path("a.txt").write_text("9\n10\n")
    job = {"name": "m", "operation": "merge", "inputs": ["a.txt", "a.txt"], "output": "out.txt", "report": "r.json"}
    Path("jobs.jsonl").write_text(json.dumps(job))
    assert invoke(["batch", "jobs.jsonl", "--quiet"]) == 0
    assert Path("out.txt").read_text() == "9\n9\n10\n10\n"
    assert json.loads(Path("r.json").read_text())["backend"] == "cpu"
    place(GPUMERGE_BACKEND="gpu")
    Path("jobs.jsonl").write_text(json.dumps({**job, "backend": "cpu"}))
    assert invoke(["batch", "jobs.jsonl", "--quiet"]) == 0
    assert json.loads(Path("r.json").read_text())["backend"] == "cpu"
    place(GPUMERGE_MERGE_KERNEL="quick")
    assert invoke(["batch", "jobs.jsonl", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "jobs.jsonl:1: GPUMERGE_MERGE_KERNEL: " in error


@pytest.mark.parametrize(
    ("jobs", "error"),
    [
        ([{}, {"kernel": "quick"}], "jobs.jsonl:2: --kernel: invalid value 'quick'"),
        (
            [{}, {"operation": "union"}, {"record-start": "x"}],
            "jobs.jsonl:3: {toml}:3: --record-start cannot be combined with --csv; ",
        ),
        (
            [{"operation": "union"}, {"record-start": "x"}],
            "jobs.jsonl:2: {toml}:3: --record-start cannot be combined with --csv; ",
        ),
    ],
)
def test_an_error_names_the_setting_of_its_own_job(
    place: Callable[..., None], jobs: list[dict[str, Any]], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Settings that another job used are not to blame for it."""
    place("[merge]\nkernel = 'path'\ncsv = true\n[union]\ncsv = true")
    Path("a.txt").write_text("1\n")
    every = {"operation": "merge", "inputs": ["a.txt"], "output": "{job}.out"}
    Path("jobs.jsonl").write_text("".join(f"{json.dumps(every | job)}\n" for job in jobs))
    assert invoke(["batch", "jobs.jsonl"]) == 2
    toml = Path.cwd().parent / "gpumerge.toml"
    assert capsys.readouterr().err.startswith(f"gpumerge: {error.format(toml=toml)}")


def test_a_job_is_another_one_where_settings_changed(
    place: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    place(user="[merge]\nunique = true\ncheck = false", GPUMERGE_BACKEND="cpu", GPUMERGE_RANDOM_SOURCE="a.txt")
    Path("a.txt").write_text("2\n2\n10\n")
    job = {"name": "m", "operation": "merge", "inputs": ["a.txt"], "output": "out.txt", "numeric-sort": True}
    Path("jobs.jsonl").write_text(json.dumps(job))
    command = ["batch", "jobs.jsonl", "--joblog", "log", "--resume"]
    assert invoke([*command, "--dry-run"]) == 0
    here = os.getcwd()
    assert capfd.readouterr().out == (
        f"gpumerge merge --no-check --random-source={here}/a.txt --unique --backend=cpu --numeric-sort "
        f"--output={here}/out.txt -- {here}/a.txt  # m\n"
    )
    for variables, state, expected in (
        ({}, "1 done", "2\n10\n"),
        ({}, "1 skipped", "2\n10\n"),
        ({"GPUMERGE_UNIQUE": "0"}, "1 done", "2\n2\n10\n"),
    ):
        place(**variables)
        assert invoke(command) == 0
        assert (Path("out.txt").read_text(), state in capfd.readouterr().err) == (expected, True)


def test_help_needs_no_settings(place: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    invoke(["merge", "--help"])
    before = capsys.readouterr().out
    place("this is no TOML", GPUMERGE_KERNEL="basic")
    for command in ("merge", "sort"):
        assert invoke([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(before)


@pytest.mark.parametrize(("command", "name"), [("merge", "output"), ("sort", "report"), ("batch", "joblog")])
def test_an_empty_place_is_not_the_files_folder(
    place: Callable[..., None], capfd: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    place(user=f"[{command}]\n{name} = ''")
    Path("a").write_text("1\n")
    assert invoke([command, "a"]) == 2
    told = capfd.readouterr().err
    assert told.endswith(f"config.toml:2: {name} is empty; name a place, or leave the setting out\n")
    assert told.count("\n") == 1


def test_a_files_paths_start_from_its_folder(place: Callable[..., None], tmp_path: Path) -> None:
    place(
        "[sort]\ntemporary-directory = ['scratch', 'deep']", user="report = 'r.json'\n[sort]\ncompress-program='zstd'"
    )
    assert used("sort", "temporary-directory")[0] == [
        str(tmp_path / "project" / "scratch"),
        str(tmp_path / "project" / "deep"),
    ]
    assert used("merge", "report")[0] == str(tmp_path / "home" / "gpumerge" / "r.json")
    assert used("sort", "compress-program")[0] == "zstd"


def test_only_what_changes_no_output_reaches_sort(
    place: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    place(
        "reverse = true\nnumeric-sort = true\nstable = true\nunique = true\nheader = 1\ncsv = true\n",
        GPUMERGE_KEY="2",
        GPUMERGE_DTYPE="int32",
        GPUMERGE_OUTPUT="out.txt",
    )
    Path("a").write_text("b 1\na 2\n10 3\n9 0\n")
    assert invoke(["sort", "a"]) == 0
    assert capfd.readouterr().out == "10 3\n9 0\na 2\nb 1\n"
    assert not Path("out.txt").exists()


def test_sorts_settings_are_what_it_runs_with(place: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    place(GPUMERGE_MEMORY="64M", GPUMERGE_THREADS="1", GPUMERGE_SORT_REPORT="r.json", GPUMERGE_BACKEND="cpu")
    Path("a").write_text("b\na\n")
    assert invoke(["sort", "a"]) == 0
    assert capfd.readouterr().out == "a\nb\n"
    assert json.loads(Path("r.json").read_text())["backend"] == "cpu"


def test_sorts_flags_win(place: Callable[..., None]) -> None:
    from gpumerge_cli.cli.gnu import parse_sort

    place(
        "[sort]\ntemporary-directory = ['deep']\nmemory = '2G'",
        GPUMERGE_THREADS="3",
        GPUMERGE_SORT_COMPRESS_PROGRAM="gzip",
    )
    command = parse_sort(["a"], settings=Settings())
    values = command.options
    assert (values.memory, values.threads, values.compress_program) == (2 << 30, 3, "gzip")
    assert [os.path.basename(folder) for folder in values.temporary_directory] == ["deep"]
    given = ["-S", "1M", "--parallel=1", "-T", ".", "--compress-program", "zstd", "a"]
    command = parse_sort(given, settings=Settings())
    values = command.options
    assert (values.memory, values.threads, values.compress_program) == (1 << 20, 1, "zstd")
    assert values.temporary_directory == (".",)


def test_what_can_be_set_for_sort_orders_nothing() -> None:
    """But for the locale, which only its user may set."""
    settable = [option for option in options_of("sort") if option.settable and option.name != "locale"]
    assert {option.group for option in settable} == {"Output", "Where to run", "About the program", "Tuning"}
    assert "output" not in {option.name for option in settable}


def test_no_variable_means_two_things() -> None:
    settings = Settings()
    meant: dict[str, set[tuple[str, str]]] = {}
    for scope, name in settings.variables.values():
        meant.setdefault(f"{scope}_{name}", set()).add((scope, name))
    assert all(len(found) == 1 for found in meant.values())
    assert settings.variables["GPUMERGE_KEY"] == ("", "key")


def test_info_shows_what_came_from_where(place: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    place("[merge]\nquiet = true", user="kernel = 'tiled'", GPUMERGE_THREADS="3", GPUMERGE_MEMORY="1G")
    assert invoke(["info", "--config", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {(row["setting"], row["from"].rpartition("/")[2]): row for row in told["settings"]}
    assert rows["quiet", "gpumerge.toml:2"]["value"] == "true"
    assert rows["quiet", "gpumerge.toml:2"]["commands"] == ["merge"]
    assert "merge" not in rows["quiet", "default"]["commands"]
    assert {"merge", "sort"} <= set(rows["kernel", "config.toml:1"]["commands"])
    assert rows["threads", "GPUMERGE_THREADS"]["value"] == "3"
    variables = {row["variable"] for row in told["settings"] if row["setting"] == "report"}
    assert variables == {"GPUMERGE_REPORT", "GPUMERGE_BATCH_REPORT"}
    assert "sort" in rows["threads", "GPUMERGE_THREADS"]["commands"]
    assert rows["memory", "GPUMERGE_MEMORY"]["value"] in ("1G", f"{1 << 30}b")
    settable = {(c.name, o.name) for c in COMMANDS for o in c.options if o.settable}
    assert {(name, row["setting"]) for row in told["settings"] for name in row["commands"]} == settable
    assert invoke(["info", "--config"]) == 0
    table = capsys.readouterr().out
    assert "GPUMERGE_THREADS" in table
    assert "/project/gpumerge.toml" in table


def test_each_setting_stands_on_a_line_whole_in_80_columns(
    place: Callable[..., None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    place(GPUMERGE_PATH_BLOCK_SIZE="64", GPUMERGE_CHECK_IGNORE_LEADING_BLANKS="1")
    assert invoke(["info", "--config"]) == 0
    table = capsys.readouterr().out
    lines = table.splitlines()[3:]
    facts = effective_settings(Settings()).settings
    assert len(lines) == len(facts)
    for line, row in zip(lines, facts, strict=True):
        assert line.startswith(row.name)
        assert line.endswith(", ".join(row.commands))
    words = table.split()
    assert {"GPUMERGE_PATH_BLOCK_SIZE", "GPUMERGE_CHECK_IGNORE_LEADING_BLANKS"} <= set(words)
    assert {option.name for command in COMMANDS for option in command.options if option.settable} <= set(words)


def test_debug_can_be_set(place: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    place(GPUMERGE_DEBUG="1")
    for command in ("check", "sort"):
        assert invoke([command, "missing.txt"]) == 2
        assert capsys.readouterr().err.startswith("Traceback")


LINE_SETTINGS = {
    "LOCALE": "xx", "LINE_ENDS": "lf", "HEADER_PREFIX": "#", "RECORD_START": "(", "QUOTES": "backslash",
    "HEADERS": "union", "SCHEMA": "union", "CSV": "1", "HEADER": "1", "ZERO_TERMINATED": "1", "FIELD_SEPARATOR": ",",
    "NULL_VALUES": "NA", "INVALID": "last", "THOUSANDS": "ab", "ZONE": "nowhere", "YEAR": "2024", "TIME_FORMAT": "%d",
    "TIME": "1", "NUMERIC_SORT": "1", "IGNORE_CASE": "1", "SORT": "numeric", "LAST_RESORT": "1",
    "ORDER_LIST": "/missing",
}  # fmt: skip
PLAIN = ("LOCALE", "LINE_ENDS", "HEADER_PREFIX", "RECORD_START", "QUOTES", "HEADERS", "SCHEMA", "CSV", "HEADER")


@pytest.mark.parametrize("name", LINE_SETTINGS)
def test_settings_of_lines_leave_other_items_alone(name: str, place: Callable[..., None]) -> None:
    place(**{f"GPUMERGE_{name}": LINE_SETTINGS[name]})
    numbers = np.array([1, 2, 2, 3])
    np.save("a.npy", numbers)
    numbers.astype(np.int32).tofile("a.i32")
    doubled = np.repeat(numbers, 2)
    for command in ("merge", "sort"):
        assert invoke([command, *["a.npy"] * 2, "--output", "out.npy", "--quiet"]) == 0
        assert np.array_equal(np.load("out.npy"), doubled)
    assert invoke(["union", "-q", "a.i32", "a.i32", "-o", "out.i32"]) == 0
    assert invoke(["join", "-q", "a.i32", "a.i32", "--output", "out.i32"]) == 0
    assert invoke(["check", "-q", "a.npy", "a.i32"]) == 0
    assert invoke(["rank", "--at", "1", "a.npy"]) == 0
    assert invoke(["path", "--items", "1 2", "--items", "2 3"]) == 0
    if name in PLAIN:
        Path("a.jsonl").write_text('{"id":1}\n{"id":2}\n')
        assert invoke(["merge", "-q", "--field", "id:n", "a.jsonl", "-o", "out.jsonl"]) == 0
        assert Path("out.jsonl").read_text() == Path("a.jsonl").read_text()


@pytest.mark.parametrize("name", [name for name in LINE_SETTINGS if name != "TIME"])  # which --field contradicts
def test_settings_of_lines_leave_tables_alone(name: str, place: Callable[..., None]) -> None:
    place(**{f"GPUMERGE_{name}": LINE_SETTINGS[name]})
    table = pa.table({"id": [1, 2, 3]})
    pq.write_table(table, "a.parquet")
    for command in ("merge", "sort"):
        assert invoke([command, "--field", "id", "a.parquet", "--output", "out.parquet", "--quiet"]) == 0
        assert pq.read_table("out.parquet").equals(table)


def test_settings_of_kinds_hold_for_columns_of_tables(
    place: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    place(user="invalid = 'last'\nlocale = 'xx'")
    pq.write_table(pa.table({"id": ["10", "9", "?"]}), "a.parquet")
    words = ["check", "-q", "--field", "id:hex,r", "a.parquet"]
    assert invoke(words) == 0
    assert invoke([*words, "--invalid", "error"]) == 2
    assert "'?'" in capfd.readouterr().err


def test_quotes_are_no_matter_to_plain_lines(place: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    place(user="quotes = 'none'")
    Path("a.txt").write_text('id\n"a\n')
    assert invoke(["merge", "-q", "--header=1", "a.txt"]) == 0
    assert invoke(["merge", "-q", "--field=id", "a.txt"]) == 0
    assert capfd.readouterr().out == 'id\n"a\n' * 2
    assert invoke(["merge", "-q", "--quotes=none", "a.txt"]) == 2


def test_errors_about_files_name_the_setting(place: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    place(user="locale = 'xx'\nheader-prefix = '%'")
    Path("a.csv").write_text("id\n1\n")
    toml = Path.cwd().parents[1] / "home" / "gpumerge" / "config.toml"
    assert invoke(["merge", "--field=id:hex", "a.csv"]) == 2  # hexadecimal numbers compare in no locale
    assert capfd.readouterr().err.endswith(
        f"a.csv:1: its first line does not begin with %; check --header-prefix, or add --header 1 "
        f"(--header-prefix is set by {toml}:2)\n"
    )
    assert invoke(["merge", "-q", "-k1,1:hex", "a.csv", "--header=1"]) == 0
    assert invoke(["merge", "-q", "-k1,1", "a.csv", "--header=1"]) == 2
    assert capfd.readouterr().err.startswith(f"gpumerge: {toml}:1: --locale xx: this machine has no such locale; ")
