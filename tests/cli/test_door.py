"""The door: help, options, and wrong usage."""

from __future__ import annotations

import ast
import inspect
import random
import re
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import get_args

import pytest

from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.cli import app as door
from gpumerge_cli.cli import dispatch
from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.options import commands as options
from gpumerge_cli.cli.options.model import GROUPS
from gpumerge_cli.cli.options.typed import OPTION_TYPES
from gpumerge_cli.cli.scan import Operand, scan
from gpumerge_cli.cli.values import OptionValue
from gpumerge_cli.compare.key_shapes import SHAPES
from gpumerge_cli.engine.job import BackendChoice
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.kinds.lookup import format_names
from gpumerge_cli.launch import ALGORITHMS, TileLoad, Transfer

COMMANDS = (
    "merge",
    "union",
    "intersect",
    "difference",
    "symmetric",
    "compare",
    "diff",
    "join",
    "sort",
    "check",
    "rank",
    "batch",
    "bench",
    "path",
    "learn",
    "generate",
    "info",
)


ROOT = Path(__file__).parents[2]


def gpumerge(*arguments: str, **keywords: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpumerge_cli", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, **keywords)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("arguments", [[], *([command] for command in COMMANDS)])
def test_help_goes_to_standard_output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke([*arguments, "--help"]) == 0
    captured = capsys.readouterr()
    assert "Usage: gpumerge" in captured.out
    assert captured.err == ""
    assert max(len(line) for line in captured.out.splitlines()) <= 80


@pytest.mark.parametrize("command", ["", "merge", "check"])
def test_help_tells_suffixes_and_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    door.invoke(["help", *command.split()])
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
    assert options.COMMAND_NAMES == COMMANDS
    for command in options.COMMANDS:
        assert command.about
        text = help_text(command.name, 200, whole=True)
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
            assert option.takes_value or not option.placeholder, option
            assert option.default is None or not option.choices or option.default in option.choices, option


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_as_wide_as_the_terminal(command: str, width: int, whole: bool) -> None:
    kept = {line.strip() for text in options.command(command).epilog.split("\n\n") for line in text.split("\n")}
    for line in help_text(command, width, whole=whole).splitlines():
        assert len(line) <= width or line.strip() in kept or len(line.split()) <= 4, line


def test_help_has_examples_first_and_tuning_last() -> None:
    text = help_text("merge", whole=True)
    headings = ["Usage", "\nExamples:", "\nInput:", "\nOrder:", "\nOutput:", "\nWhere to run:", "\nTuning:"]
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_commands_with_many_options_is_short(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = options.command(command)
    assert door.invoke([command, "--help"]) == 0
    short = capsys.readouterr().out
    assert short == help_text(command)
    if not known.briefly:
        assert short == help_text(command, whole=True)
        return
    assert len(short.splitlines()) <= 40
    assert all(f"--{option.name}" in short and option.brief.split()[0] in short for option in known.briefly)
    assert f"\n\ngpumerge help {command} shows all {len(known.options)} options" in short
    for words in ([command, "--help=all"], ["help", command], [command, "-r", "--help=all"]):
        assert door.invoke(words) == 0
        assert capsys.readouterr().out == help_text(command, whole=True)


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
    assert door.invoke(arguments) == 0
    assert capsys.readouterr().out == help_text(command)


def test_h_is_an_order_where_gnu_sort_has_it_for_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("2K\n1M\n")
    for command in ("merge -q", "sort", "check"):
        assert door.invoke([*command.split(), "-h", str(tmp_path / "a.txt")]) == 0
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
    assert set(OPTION_TYPES) == set(options.COMMAND_NAMES)
    cases = re.findall(r"case (\w+)\(\)", inspect.getsource(dispatch))
    assert {*cases, "SortOptions"} == {kind.__name__ for kind in OPTION_TYPES.values()}


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from gpumerge_cli.cli.app import invoke; invoke(['merge', '--help']); "
        "print(sorted({'numpy', 'cupy', 'rich', 'json', 'asyncio'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_a_merge_imports_only_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "a.i32").write_bytes(bytes(4))
    words = ["merge", "-q", "--backend=cpu", "--threads=1", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32")]
    unneeded = {"pydantic", "rich", "json", "tempfile", "statistics", "hashlib", "logging", "csv"}
    unneeded |= {f"gpumerge_cli.{name}" for name in ("cli.bench", "formats.csv_lines", "results.compared", "batch")}
    code = (
        f"import sys; from gpumerge_cli.cli.app import invoke; invoke({words}); "
        f"print(sorted({unneeded} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("name", [name for name in options.COMMAND_NAMES if name != "sort"])
def test_only_names_of_coreutils_may_be_shortened_while_they_stay_unique(name: str, seed: int) -> None:
    """A beginning of a long name is read as the one option of coreutils that begins so, or refused.

    A whole name of another command's option is refused if it would be read in the same way.
    """
    rows = [row for row in options.command(name).options if row.name not in ("help", "version")]
    longs = {one[2:]: (row, True) for row in rows for one in row.names if one.startswith("--")}
    longs |= {f"no-{long}": (row, False) for long, (row, _) in [*longs.items()] if not row.takes_value}
    longs |= {row.off: (row, False) for row in rows if row.off}
    known = {*longs, *(["help"] * (name in options.COMMAND_NAMES))}
    elsewhere = {(one[2:], row.takes_value) for each in options.COMMANDS for row in each.options for one in row.names}
    chance = random.Random(seed)
    for long in chance.choices([*longs], k=40):
        short = long[: chance.randint(1, len(long))]
        begun = [other for other in known if other.startswith(short)]
        if name == "join" and short not in known:  # as in sort, names of coreutils go first
            of_gnu = [other for other in begun if other == "help" or longs[other][0].gnu_name == other]
            begun, long = of_gnu or begun, next((one for one in of_gnu if one in longs), long)
        found = {longs.get(other) for other in begun}
        row, on = longs[short if short in longs else long]
        value = row.choices[-1] if row.choices else "1M" if row.kind in ("size", "count") else "1"
        words = [f"--{short}={value}" if row.takes_value else f"--{short}", *["x"] * (name in ("batch", "generate"))]
        if short not in known and (short, row.takes_value) in elsewhere and len(found) == 1:
            with pytest.raises(UsageError, match=f"there is no option --{short}"):
                first_of(name, words)
        elif len(found) > 1 and short not in known:
            with pytest.raises(UsageError, match="is ambiguous; write one of"):
                first_of(name, words)
        elif short not in known and (not on or row.gnu_name != long):
            with pytest.raises(UsageError, match=f"there is no option --{short}; write --"):
                first_of(name, words)
        else:
            first = first_of(name, words)
            assert first.option is row, words
            assert row.takes_value or first.value is on, words


_GNU_NAMES = {
    "batch-size", "buffer-size", "check", "compress-program", "debug", "dictionary-order", "field-separator",
    "files0-from", "general-numeric-sort", "human-numeric-sort", "ignore-case", "ignore-leading-blanks",
    "ignore-nonprinting", "key", "merge", "month-sort", "numeric-sort", "output", "parallel", "random-sort",
    "random-source", "reverse", "sort", "stable", "temporary-directory", "unique", "version-sort", "zero-terminated",
    "total", "output-delimiter", "header",
}  # fmt: skip
"""The long names of coreutils' sort, join and comm."""
_OTHER_PURPOSES = {"check", "debug", "header", "key"}
"""Those that mean something else in some commands of ours: a switch of merge, say, or a number of lines."""


@pytest.mark.parametrize("row", options.COMMANDS, ids=lambda row: row.name)
def test_all_names_of_coreutils_are_known_as_such(row: options.Command) -> None:
    for option in row.options:
        if option.name in _GNU_NAMES - _OTHER_PURPOSES:
            assert option.gnu_name == option.name, option.name


def first_of(name: str, words: list[str]) -> OptionValue:
    """The option that a command line begins with."""
    first = next(scan(options.command(name), deque(words)))
    assert isinstance(first, OptionValue)
    return first


def test_shortened_options_do_what_the_whole_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("1,x\n2,y\n")
    Path("b").write_text("1,z\n")
    for words, told in (
        (["join", "-q", "-t,", "--unpaired=1", "--columns", "auto", "--ignore-c"], "1,x,z\n2,y,\n"),
        (["compare", "--without-first", "--output-d=;", "--tot"], "1,z\n2;1;0;total\n"),
        (["merge", "-q", "--numeric", "--field-s=,"], "1,x\n1,z\n2,y\n"),
    ):
        assert door.invoke([*words, "a", "b"]) == 0
        assert capfd.readouterr() == (told, "")
    # A word behind an option that takes a value is that value.
    assert door.invoke(["join", "-q", "-t,", "-a1", "-oauto", "-e", "--tot", "a", "b"]) == 0
    assert capfd.readouterr().out == "1,x,z\n2,y,--tot\n"
    assert door.invoke(["compare", "--output", "x", "--out", "a", "b"]) == 2
    said = capfd.readouterr().err
    assert said == "gpumerge: --out is ambiguous; write one of --output, --output-delimiter\n"
    assert door.invoke(["join", "-q", "--field-separator=,", "--field-separator=;", "a", "b"]) == 2
    assert "--field-separator is given twice" in capfd.readouterr().err
    assert door.invoke(["merge", "none", "--debug"]) == 2
    assert "Traceback" in capfd.readouterr().err


def test_names_of_files_may_look_like_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """They stand behind --, or are the value of an option."""
    monkeypatch.chdir(tmp_path)
    Path("--count").write_text("1\n2\n")
    Path("--help").write_text("2\n")
    for command, told in (("merge", "1\n2\n2\n"), ("union", "1\n2\n"), ("symmetric", "1\n")):
        assert door.invoke([command, "-q", "--", "--count", "--help"]) == 0
        assert capfd.readouterr() == (told, "")
    assert door.invoke(["merge", "-qz", "-o", "--count", "--threads", "1", "--", "--help"]) == 0
    assert Path("--count").read_text() == "2\n\0"
    assert door.invoke(["merge", "-q", "--output", "--count", "--no-check", "--count=after", "--", "--help"]) == 0
    assert Path("--count").read_text() == "2\t1\n"
    words = deque(["--count", "-qk", "--count", "a"])
    found = [one.text if isinstance(one, Operand) else one.value for one in scan(options.command("merge"), words)]
    assert found == ["ahead", True, "--count", "a"]
    monkeypatch.setenv("GPUMERGE_UNIQUE", "1")  # help alone reads no settings
    assert door.invoke(["merge", "-q", "--", "--help", "--help"]) == 0
    assert capfd.readouterr() == ("2\n", "")
    assert {*map(str, Path().iterdir())} == {"--count", "--help"}


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["merge", "--dtyp", "int32"], "--dtype"),
        (["merge", "--no-qui"], "--no-quiet"),
        (["rank", "--quant=0.5"], "--quantile"),
        (["join", "--only-u", "1"], "--only-unpaired"),
        (["compare", "--without-f"], "--without-first"),
        (["sort", "--dtyp=int32"], "--dtype"),
        (["info", "--js"], "--json"),
        (["merge", "--chec"], "--check"),
    ],
)
def test_own_names_are_not_shortened(words: list[str], whole: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(words) == 2
    assert capsys.readouterr().err == f"gpumerge: there is no option {words[1].partition('=')[0]}; write {whole}\n"


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["union", "--head", "3", "a"], "write one of --header, --header-prefix, --headers"),
        (["check", "--head=3", "a"], "write one of --header, --header-prefix, --headers"),
        (["merge", "--version", "a"], "did you mean --version-sort?"),
        (["merge", "--items=3", "a"], "did you mean --items-per-thread?"),
    ],
)
def test_whole_names_of_other_options_are_not_shortened_ones(
    words: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """merge --head takes the first items, and gpumerge --version tells its version."""
    assert door.invoke(words) == 2
    assert near in capsys.readouterr().err


def test_join_takes_head_as_coreutils_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("z 1\na 2\n")
    assert door.invoke(["join", "-q", "--head", str(tmp_path / "a"), str(tmp_path / "a")]) == 0
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
    assert door.invoke(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: there is no option --")
    assert f"; did you mean {near}? see gpumerge" in captured.err
    assert captured.err.count("\n") == 1


def test_a_field_by_the_name_of_the_old_option_is_told_of_the_new(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(["merge", "--key", "city", "a"]) == 2
    assert "--field takes names" in capsys.readouterr().err


def test_version() -> None:
    done = gpumerge("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("gpumerge ")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["marge"], ["no such command 'marge'; did you mean merge?", "see gpumerge --help"]),
        (["xyz"], ["no such command 'xyz'; see gpumerge --help"]),
        (["merge", "--threads"], ["--threads needs a value; see gpumerge merge --help"]),
        (["merge", "-o"], ["-o needs a value; see gpumerge merge --help"]),
        (["merge", "--quiet=1"], ["--quiet takes no value; see gpumerge merge --help"]),
        (["batch"], ["JOBS is missing; see gpumerge batch --help"]),
        (["info", "x.txt"], ["x.txt is not a table", "gpumerge check"]),
        (["merge"], ["no file was named", "--help"]),
        (
            ["merge", "--kernal", "path", "a"],
            ["no option --kernal", "mean --kernel?", "see gpumerge merge --help"],
        ),
        (["merge", "--kernel", "quick", "a"], ["--kernel", "quick", "circular"]),
        (["merge", "--backend", "tpu", "a"], ["--backend", "tpu", "gpu"]),
        (["merge", "--block-size", "0", "a"], ["--block-size", "1"]),
        (["merge", "--block-size", "many", "a"], ["--block-size", "invalid number 'many'", "1 or more"]),
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
            ["bench", "--render", "data/results/h100/compare-sorts.json"],
            ["compare-sorts.json", "its kind is not bench"],
        ),
        (["bench", "--render", "a.json", "--sizes", "9"], ["--sizes is for measuring", "--render"]),
        (["bench", "--render", "a.json", "--quick"], ["--quick is for measuring"]),
        (["bench", "-o", "a.pdf"], ["--output", "a.pdf", ".json, .csv, .md"]),
        (["bench", "--kernels", "path,fast"], ["--kernels", "'fast'", "circular"]),
        (["bench", "--kernels", ","], ["--kernels", "the list is empty"]),
        (["bench", "--dtypes", "int33"], ["'int33'", "int32"]),
        (["bench", "--shapes", "round"], ["'round'", "blocky"]),
        (["bench", "--sizes", "2^10:2^4"], ["--sizes", "'2^10:2^4'", "2^10:2^20:4"]),
        (["bench", "--sizes", "1:8:1"], ["--sizes", "invalid range"]),
        (["bench", "--sizes", "1:8:2:2"], ["--sizes", "invalid range"]),
        (["bench", "--sizes", "3", "--runs", "4"], ["3 items", "4 runs"]),
        (["bench", "--runs", "0"], ["0 runs"]),
        (["generate", "a.i32", "--count", "x"], ["--count", "'x'", "2^20"]),
        (["generate", "a.i32", "a.i32"], ["twice"]),
        (["generate", "a.i32", "--shape", "round"], ["--shape", "round"]),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err


def test_no_function_of_the_door_takes_more_than_a_handful() -> None:
    """A command gets the values of its options as one object, so no function needs more than six arguments."""
    for path in (ROOT / "gpumerge_cli" / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                assert len([one for one in taken if one.arg != "self"]) <= 6, (path.name, node.name)
