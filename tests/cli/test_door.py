"""The door: help, usage errors, exit codes, signals and pipes."""

from __future__ import annotations

import ast
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from gpumerge_cli.backends.base import ALGORITHMS, KERNELS, TileLoad, Transfer
from gpumerge_cli.cli import app as door
from gpumerge_cli.cli import application, options
from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.options import GROUPS
from gpumerge_cli.cli.parse import parse_count, parse_counts
from gpumerge_cli.cli.values import Values, read_value
from gpumerge_cli.cli.work import _WORK
from gpumerge_cli.compare.cases import SHAPES
from gpumerge_cli.engine.request import BackendChoice
from gpumerge_cli.errors import DisorderError, GpumergeError, InputError, Interrupted, OutputError, UsageError
from gpumerge_cli.formats.kinds import format_names

COMMANDS = (
    "merge",
    "union",
    "intersect",
    "difference",
    "symmetric",
    "compare",
    "join",
    "sort",
    "check",
    "rank",
    "batch",
    "bench",
    "path",
    "generate",
    "info",
)
ROOT = Path(__file__).parents[2]


def gpumerge(*arguments: str, **keywords: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpumerge_cli", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, **keywords)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("arguments", [[], *([command] for command in COMMANDS)])
def test_help_goes_to_standard_output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert door.run([*arguments, "--help"]) == 0
    captured = capsys.readouterr()
    assert "Usage: gpumerge" in captured.out
    assert captured.err == ""
    assert max(len(line) for line in captured.out.splitlines()) <= 80


@pytest.mark.parametrize("command", ["", "merge", "check"])
def test_help_tells_suffixes_and_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    door.run([*command.split(), "--help"])
    text = capsys.readouterr().out
    for width in (8, 16, 32, 64):
        assert f".i{width} " in text
        assert f".u{width} " in text
        assert width == 8 or f".f{width} " in text
    for suffix in (".npy", ".txt", ".csv", ".tsv", ".log"):
        assert suffix in text
    for code in ("0 ", "1 ", "2 ", "130, 143", "141"):
        assert (f"\n  {code}" in text) is (code != "1 " or command != "merge")  # which no merge ends with


def test_every_command_and_option_is_documented() -> None:
    assert options.NAMES == COMMANDS
    for command in options.COMMANDS:
        assert command.about
        text = help_text(command.name, 200)
        for option in command.options:
            assert option.help, option
            for name in (*option.names, *option.off_names):
                assert re.search(rf"(?<![\w-]){name}(?![\w-])", text), (command.name, name)
        shown = " ".join(text.replace("\\\n", " ").split())
        assert all(line in shown for line, _ in command.examples)


def test_rows_of_the_table_are_sound() -> None:
    for command in options.COMMANDS:
        names = [name for option in command.options for name in (*option.names, *option.off_names)]
        assert len(names) == len(set(names)), command.name
        groups = [GROUPS.index(option.group) for option in command.options]
        assert groups == sorted(groups)
        for option in command.options:
            assert option.group in GROUPS
            assert option.takes_value or not (option.choices or option.placeholder), option
            assert option.default is None or not option.choices or option.default in option.choices, option


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_as_wide_as_the_terminal(command: str, width: int) -> None:
    kept = {line.strip() for text in options.command(command).epilog.split("\n\n") for line in text.split("\n")}
    for line in help_text(command, width).splitlines():
        assert len(line) <= width or line.strip() in kept or len(line.split()) <= 4, line


def test_help_has_examples_first_and_tuning_last() -> None:
    text = help_text("merge")
    headings = ["Usage", "\nExamples:", "\nInput:", "\nOrder:", "\nOutput:", "\nWhere to run:", "\nTuning:"]
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], ""),
        (["-h"], ""),
        (["info", "-h"], "info"),
        (["batch", "-h"], "batch"),
        (["generate", "a", "-h"], "generate"),
    ],
)
def test_what_asks_for_help(arguments: list[str], command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.run(arguments) == 0
    assert capsys.readouterr().out == help_text(command)


def test_h_is_an_order_where_gnu_sort_has_it_for_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("2K\n1M\n")
    for command in ("merge -q", "sort", "check"):
        assert door.run([*command.split(), "-h", str(tmp_path / "a.txt")]) == 0
        assert "Usage" not in capfd.readouterr().out


def test_choices_are_those_of_the_backends() -> None:
    merge = options.command("merge")
    assert set(merge.option("kernel").choices) == {"auto", *KERNELS}
    assert merge.option("tile-load").choices == get_args(TileLoad)
    assert merge.option("transfer").choices == get_args(Transfer)
    assert set(merge.option("backend").choices) == set(get_args(BackendChoice))
    assert merge.option("format").choices == format_names()
    assert set(options.command("sort").option("algorithm").choices) == {"auto", *ALGORITHMS}
    generate = options.command("generate")
    assert generate.option("shape").choices == SHAPES
    assert all(shape in generate.epilog for shape in SHAPES)


def test_each_command_has_its_work() -> None:
    assert set(_WORK) | {"sort"} == set(options.NAMES)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from gpumerge_cli.cli.app import run; run(['merge', '--help']); "
        "print(sorted({'numpy', 'cupy', 'rich', 'json', 'asyncio'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_a_merge_imports_only_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "a.i32").write_bytes(bytes(4))
    words = ["merge", "-q", "--backend=cpu", "--threads=1", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32")]
    unneeded = {"pydantic", "rich", "json", "tempfile", "statistics", "hashlib", "logging", "csv"}
    unneeded |= {f"gpumerge_cli.{name}" for name in ("cli.bench", "formats.csv_records", "report.compared", "jobs")}
    code = (
        f"import sys; from gpumerge_cli.cli.app import run; run({words}); "
        f"print(sorted({unneeded} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("given", "value"), [("8", 8), ("008", 8), ("0", None), ("-1", None), ("1" * 30, 2**62), ("1.5", None), ("", None)]
)
def test_numbers(given: str, value: int | None) -> None:
    option = options.command("merge").option("threads")
    if value is None:
        with pytest.raises(UsageError, match=r"--threads: .* is no number for it; write 1 or more"):
            read_value(option, given)
    else:
        assert read_value(option, given) == value


@pytest.mark.parametrize("name", [name for name in options.NAMES if name != "sort"])
def test_long_options_may_be_shortened_while_they_stay_unique(name: str, seed: int) -> None:
    """A beginning of a long name is read as the one option that begins so, or refused.

    A whole name of another command's option is refused if it would be read in the same way.
    """
    rows = [row for row in options.command(name).options if row.name not in ("help", "version")]
    longs = {one[2:]: (row, True) for row in rows for one in row.names if one.startswith("--")}
    longs |= {f"no-{long}": (row, False) for long, (row, _) in [*longs.items()] if not row.takes_value}
    longs |= {row.off: (row, False) for row in rows if row.off}
    known = {*longs, *(["help"] * (name in options.NAMES))}
    elsewhere = {(one[2:], row.takes_value) for each in options.COMMANDS for row in each.options for one in row.names}
    chance = random.Random(seed)
    for long in chance.choices([*longs], k=40):
        short = long[: chance.randint(1, len(long))]
        found = {longs.get(other) for other in known if other.startswith(short)}
        row, on = longs[short if short in longs else long]
        value = row.choices[-1] if row.choices else "1M" if row.kind in ("size", "count") else "1"
        words = [f"--{short}={value}" if row.takes_value else f"--{short}", *["x"] * (name in ("batch", "generate"))]
        if short not in known and (short, row.takes_value) in elsewhere and len(found) == 1:
            with pytest.raises(UsageError, match=f"there is no option --{short}"):
                given_to(name, words)
        elif len(found) > 1 and short not in known:
            with pytest.raises(UsageError, match="may be several options; write one of"):
                given_to(name, words)
        else:
            read = given_to(name, words)
            assert row.parameter in read.given, words
            assert row.takes_value or getattr(read, row.parameter) is on, words


def given_to(name: str, words: list[str]) -> Values:
    """The values of a command line."""
    return application.read_task(name, lambda values: values, words, None)  # type: ignore[arg-type,return-value]


def test_shortened_options_do_what_the_whole_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("1,x\n2,y\n")
    Path("b").write_text("1,z\n")
    for words, told in (
        (["join", "-q", "--field-sep", ",", "--unp=1", "--col", "auto", "--emp", "-"], "1,x,z\n2,y,-\n"),
        (["compare", "--without-f", "--output-d=;", "--tot"], "1,z\n2;1;0;total\n"),
        (["merge", "--qui", "--no-che", "--numeric"], "1,x\n1,z\n2,y\n"),
    ):
        assert door.run([*words, "a", "b"]) == 0
        assert capfd.readouterr() == (told, "")
    # A word behind an option that takes a value is that value.
    assert door.run(["join", "-q", "-t,", "-a1", "-oauto", "-e", "--col", "a", "b"]) == 0
    assert capfd.readouterr().out == "1,x,z\n2,y,--col\n"
    assert door.run(["compare", "--output", "x", "--out", "a", "b"]) == 2
    said = capfd.readouterr().err
    assert said == "gpumerge: --out may be several options; write one of --output, --output-delimiter\n"
    assert door.run(["join", "-q", "--field-sep=,", "--field-separator=;", "a", "b"]) == 2
    assert "--field-separator is given twice" in capfd.readouterr().err
    assert door.run(["merge", "none", "--deb"]) == 2
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["union", "--head", "3", "a"], "--header"),
        (["check", "--head=3", "a"], "--header"),
        (["merge", "--version", "a"], "--version-sort"),
        (["merge", "--items=3", "a"], "--items-per-thread"),
    ],
)
def test_whole_names_of_other_options_are_not_shortened_ones(
    words: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """merge --head takes the first items, and gpumerge --version tells its version."""
    assert door.run(words) == 2
    assert f"did you mean {near}?" in capsys.readouterr().err


def test_join_takes_head_as_coreutils_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("z 1\na 2\n")
    assert door.run(["join", "-q", "--head", str(tmp_path / "a"), str(tmp_path / "a")]) == 0
    assert capfd.readouterr().out == "z 1 1\na 2 2\n"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["merge", "--sort-key", "2", "a"], "--key"),
        (["check", "--sort-key=2", "a"], "--key"),
        (["sort", "--key-field", "id", "a"], "--field"),
        (["sort", "--revers-order", "a"], "--reverse"),
        (["sort", "--kernl=path", "a"], "--kernel"),
        (["merge", "--fsnc", "a"], "--fsync"),
        (["merge", "--numericsort", "a"], "--numeric-sort"),
        (["bench", "--quik"], "--quick"),
        (["--versoin"], "--version"),
    ],
)
def test_an_unknown_option_says_which_was_meant(
    arguments: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert door.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: there is no option --")
    assert f"; did you mean {near}? see gpumerge" in captured.err
    assert captured.err.count("\n") == 1


def test_a_field_by_the_name_of_the_old_option_is_told_of_the_new(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.run(["merge", "--key", "city", "a"]) == 2
    assert "--field takes names" in capsys.readouterr().err


def test_version() -> None:
    done = gpumerge("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("gpumerge ")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["marge"], ["there is no command 'marge'; did you mean merge?", "see gpumerge --help"]),
        (["xyz"], ["there is no command 'xyz'; see gpumerge --help"]),
        (["merge", "--threads"], ["--threads needs a value; see gpumerge merge --help"]),
        (["merge", "-o"], ["-o needs a value; see gpumerge merge --help"]),
        (["merge", "--quiet=1"], ["--quiet takes no value; see gpumerge merge --help"]),
        (["batch"], ["JOBS is missing; see gpumerge batch --help"]),
        (["info", "x"], ["argument(s) (x)", "see gpumerge info --help"]),
        (["merge"], ["no file was named", "--help"]),
        (
            ["merge", "--kernal", "path", "a"],
            ["no option --kernal", "mean --kernel?", "see gpumerge merge --help"],
        ),
        (["merge", "--kernel", "quick", "a"], ["--kernel", "quick", "circular"]),
        (["merge", "--backend", "tpu", "a"], ["--backend", "tpu", "gpu"]),
        (["merge", "--block-size", "0", "a"], ["--block-size", "1"]),
        (["merge", "--block-size", "many", "a"], ["--block-size", "'many' is no number", "1 or more"]),
        (["merge", "--repeat", "0", "--compare", "a"], ["--repeat", "1"]),
        (["merge", "--repeat", "3", "a"], ["--repeat", "add --compare"]),
        (["merge", "--compare", "a", "-o", "b"], ["--compare", "leave -o out"]),
        (["merge", "a", "--report", "r.pdf"], ["--report", "r.pdf", ".json, .md"]),
        (["merge", "a", "--report", "r.csv"], ["--report", "r.csv", ".json, .md"]),
        (["merge", "a.csv", "--compare", "--report", "a.csv"], ["--report", "replace a.csv"]),
        (["merge", "a", "--report", "no/such/r.md"], ["no/such/r.md", "no such file"]),
        (["bench", "a.json"], ["a.json", "--render"]),
        (["bench", "--render"], ["no results", ".json"]),
        (["bench", "--render", "no/such.json"], ["no/such.json", "no such file"]),
        (["bench", "--render", "README.md"], ["README.md", "not the results of gpumerge bench"]),
        (
            ["bench", "--render", "data/results/epyc/compare-i32-1threads.json"],
            ["compare-i32-1threads.json", "its kind is not bench"],
        ),
        (["bench", "--render", "a.json", "--sizes", "9"], ["--sizes is for measuring", "--render"]),
        (["bench", "--render", "a.json", "--quick"], ["--quick is for measuring"]),
        (["bench", "-o", "a.pdf"], ["--output", "a.pdf", ".json, .csv, .md"]),
        (["bench", "--kernels", "path,fast"], ["--kernels", "'fast'", "circular"]),
        (["bench", "--kernels", ","], ["--kernels", "names nothing"]),
        (["bench", "--dtypes", "int33"], ["'int33'", "int32"]),
        (["bench", "--shapes", "round"], ["'round'", "blocky"]),
        (["bench", "--sizes", "2^10:2^4"], ["--sizes", "'2^10:2^4'", "2^10:2^20:4"]),
        (["bench", "--sizes", "1:8:1"], ["--sizes", "no range"]),
        (["bench", "--sizes", "1:8:2:2"], ["--sizes", "no range"]),
        (["bench", "--sizes", "3", "--runs", "4"], ["3 items", "4 runs"]),
        (["bench", "--runs", "0"], ["0 runs"]),
        (["generate", "a.i32", "--count", "x"], ["--count", "'x'", "2^20"]),
        (["generate", "a.i32", "a.i32"], ["twice"]),
        (["generate", "a.i32", "--shape", "round"], ["--shape", "round"]),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert door.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err


def raising(error: BaseException) -> Callable[..., None]:
    def command(*_arguments: object, **_keywords: object) -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("is a directory", where="a", way_out="name a file"), 2, "a: is a directory; name a file"),
        (OutputError("odd\nname", where="b\n"), 2, "b : odd name"),
        (Interrupted(signal.SIGINT), 130, "interrupted; no output was written"),
        (Interrupted(signal.SIGTERM), 143, "interrupted; no output was written"),
        (KeyboardInterrupt(), 130, "interrupted; no output was written"),
        (MemoryError(), 2, "not enough memory; merge less at once, or close other programs"),
        (RuntimeError("can't start new thread"), 2, "not enough memory; merge less at once, or close other programs"),
        (ValueError("surprise"), 2, "ValueError: surprise; run again with --debug for the traceback"),
    ],
)
def test_every_error_is_one_line(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door, "_dispatch", raising(error))
    assert door.run([]) == code
    assert capsys.readouterr().err == f"gpumerge: {line}\n"


def test_what_others_make_of_a_signal_is_told_as_the_signal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(arguments: list[str]) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except BaseException:
            raise ImportError("a broken installation") from None
        return 0

    monkeypatch.setattr(door, "_dispatch", stopped)
    assert door.run([]) == 143
    assert capsys.readouterr().err.startswith("gpumerge: interrupted; ")
    monkeypatch.setattr(door, "_dispatch", raising(ValueError("surprise")))
    assert door.run([]) == 2  # the signal is not taken for what stops the next run


def test_no_memory_for_the_way_that_errors_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door, "_dispatch", raising(MemoryError()))
    monkeypatch.setattr(door, "anything_set", raising(MemoryError()))
    assert door.run([]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_debug_shows_the_traceback_and_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door, "_dispatch", raising(InputError("wrong")))
    assert door.run(["merge", "--debug"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith("\ngpumerge: wrong\n")


def test_a_closed_pipe_is_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrapped = OutputError("broken pipe", where="-")
    wrapped.__cause__ = BrokenPipeError()
    for error in (BrokenPipeError(), wrapped):
        monkeypatch.setattr(door, "_dispatch", raising(error))
        assert door.run([]) == 141
    assert capsys.readouterr().err == ""


def test_a_closed_pipe_at_exit_is_silent() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gpumerge_cli", "--help"]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_at_exit_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gpumerge_cli", "--help"]
        done = subprocess.run(
            command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "gpumerge: no space left on device; free some space or write elsewhere\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["sort", "--help"],
        ["--show-completion", "bash"],
        ["path", "--items", "1 3", "--items", "2"],
        ["info", "--config"],
        ["info", "--config", "--json"],
        ["merge", "--format", "text", os.devnull],
    ],
)
def test_what_goes_to_a_closed_standard_output_is_not_lost_in_silence(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        code = door.run(arguments)
        assert sys.stdout is None
    assert code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("gpumerge: standard output: it is closed; ")
    assert captured.err.count("\n") == 1


def test_notes_do_not_go_to_standard_output_where_standard_error_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("b\na\n")
    monkeypatch.setattr(sys, "stderr", None)
    assert door.run(["sort", "--debug", str(tmp_path / "a.txt")]) == 0
    assert capfd.readouterr().out == "a\n_\nb\n_\n"


def test_closed_standard_streams_are_no_crash() -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m gpumerge_cli --help >&-'], cwd=ROOT, capture_output=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpumerge: standard output: it is closed; ")
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m gpumerge_cli marge 2>&-'], cwd=ROOT, capture_output=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU])
def test_a_signal_stops_the_work_and_cleans_up(number: signal.Signals) -> None:
    code = """
import sys, time
from gpumerge_cli import __main__
from gpumerge_cli.cli import app
def work(arguments):
    try:
        print("working", flush=True)
        time.sleep(30)
    finally:
        print("cleaned up", flush=True)
app._dispatch = work
__main__.main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(number)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert out == "cleaned up\n"
    assert error == "gpumerge: interrupted; no output was written\n"


AT_A_CALL = """
import os, pkgutil, signal, sys
from gpumerge_cli import __main__
sys.argv[1:] = {arguments!r}
owner = pkgutil.resolve_name({owner!r})
really, left = owner.{name}, {call}
def interrupted(*arguments):
    global left
    result = really(*arguments)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)
    return result
owner.{name} = interrupted
__main__.main()
"""


def interrupted_after(
    name: str, call: int, arguments: list[str], owner: str = "os"
) -> subprocess.CompletedProcess[str]:
    """A run that gets SIGINT right after so many calls of a function of `owner`."""
    code = AT_A_CALL.format(owner=owner, name=name, call=call, arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, errors="replace"
    )


@pytest.mark.parametrize("words", ["merge -q", "sort", "sort -m", "generate --count 10"])
def test_a_signal_once_the_output_is_in_place_changes_nothing(words: str, tmp_path: Path) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("1\n2\n")
    b.write_text("earlier\n")
    files = [str(b)] if words.startswith("generate") else [str(a), "-o", str(b)]
    done = interrupted_after("replace", 1, [*words.split(), *files])
    assert (done.returncode, done.stderr) == (0, "")
    assert b.read_text() != "earlier\n"


def test_a_signal_says_what_was_written(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{letter}.i32") for letter in "abc"]
    done = interrupted_after("replace", 2, ["generate", "--count=10", *names])
    assert (done.returncode, done.stderr) == (
        130,
        f"gpumerge: interrupted; {names[0]} is complete, {names[1]} is complete\n",
    )
    assert [os.path.exists(name) for name in names] == [True, True, False]
    done = interrupted_after("write", 1, ["merge", "-q", names[0]])
    assert (done.returncode, done.stderr) == (130, "gpumerge: interrupted; standard output has a part of the output\n")
    writer = "gpumerge_cli.backends.cpu.chunks:CpuChunkWorker"
    done = interrupted_after("run", 1, ["merge", "-q", names[0], "-o", str(tmp_path / "out.i32")], writer)
    assert (done.returncode, done.stderr) == (130, "gpumerge: interrupted; no output was written\n")
    assert sorted(os.listdir(tmp_path)) == ["a.i32", "b.i32"]


AT_AN_IMPORT = """
import os, sys
class Finder:
    left = {left}
    def find_spec(self, name, path=None, target=None):
        Finder.left -= 1
        if Finder.left == 0:
            os.kill(os.getpid(), {number})
from gpumerge_cli.__main__ import main
sys.argv[1:] = {arguments!r}
sys.meta_path.insert(0, Finder())
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", ["--version", "merge a.txt", "sort a.txt", "batch jobs.toml"])
def test_a_signal_while_things_are_imported_is_one_line(number: signal.Signals, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "jobs.toml").write_text('[[job]]\noperation = "sort"\ninputs = "a.txt"\noutput = "o"\n')
    ends = []
    for left in (1, 2, 5, 12, 30, 80):
        code = AT_AN_IMPORT.format(left=left, number=int(number), arguments=words.split())
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        ends.append((done.returncode, done.stderr.count("\n"), done.stderr.startswith("gpumerge: interrupted; ")))
    assert ends[:4] == [(128 + number, 1, True)] * 4
    assert set(ends) <= {(128 + number, 1, True), (0, 0, False)}  # some import less


def test_a_signal_where_nothing_can_be_raised_comes_again() -> None:
    code = """
import os, signal, sys, time, weakref
from gpumerge_cli import __main__
from gpumerge_cli.cli import app
class Thing: pass
def work(arguments):
    thing = Thing()
    reference = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(0))[0])
    del thing
    time.sleep(120)
app._dispatch = work
__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stderr) == (143, "gpumerge: interrupted; no output was written\n")


def test_a_signal_that_comes_again_at_once_is_not_lost_in_the_hook() -> None:
    code = """
import os, signal, sys, threading, time, weakref
from gpumerge_cli import __main__
from gpumerge_cli.cli import app, signals
class Thing: pass
class Late:
    def __init__(self, wait, work, arguments):
        self.start = lambda: work(*arguments)
timer, calls = threading.Timer, []
def at_once(*arguments):
    calls.append(arguments)
    return Late(*arguments) if len(calls) == 1 else timer(*arguments)
def work(arguments):
    thing = Thing()
    reference = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(0))[0])
    threading.Timer = at_once
    del thing
    time.sleep(120)
app._dispatch = work
__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (143, "gpumerge: interrupted; no output was written\n")


def test_no_handler_of_errors_takes_a_signal_for_one() -> None:
    assert not issubclass(Interrupted, Exception)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    door.run(["--help"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_exit_codes_of_the_tree() -> None:
    assert GpumergeError("").exit_code == DisorderError("").exit_code == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("1500000", 1_500_000),
        ("1_500_000", 1_500_000),
        ("1,500", 1500),
        ("1e6", 10**6),
        ("1.5e6", 1_500_000),
        ("2^28", 2**28),
        ("2**20", 2**20),
        ("10M", 10**7),
        ("2.5k", 2500),
        ("1G", 10**9),
        ("123456789012345678901", 123456789012345678901),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert parse_count(text, "--count") == count


@pytest.mark.parametrize("text", ["", "-1", "x", "1.5", "1e-3", "2^", "1Mi", "1e6M", "0x10"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(GpumergeError, match="--count"):
        parse_count(text, "--count")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("5", (5,)),
        ("1e3, 2^4", (1000, 16)),
        ("2^10:2^16:4,7", (1024, 4096, 16384, 65536, 7)),
        ("1:9", (1, 2, 4, 8)),
        ("2,2", (2,)),
    ],
)
def test_lists_of_counts(text: str, counts: tuple[int, ...]) -> None:
    assert parse_counts(text, "--sizes") == counts


def test_a_signal_after_the_end_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    program = (
        "import os, signal\n"
        "from gpumerge_cli.cli.app import run\n"
        "code = run(['merge', 'a.txt', '-o', 'out.txt', '-q'], last=True)\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
        "    os.kill(os.getpid(), number)\n"
        "print(code)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_no_function_of_the_door_takes_more_than_a_handful() -> None:
    """A command gets the values of its options as one object, so no function needs more than six arguments."""
    for path in (ROOT / "gpumerge_cli" / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                assert len([one for one in taken if one.arg != "self"]) <= 6, (path.name, node.name)
