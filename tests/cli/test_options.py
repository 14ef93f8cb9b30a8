"""The typed values of options hold what the table says, and options that do not go together are refused."""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

import gpumerge_cli
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.conflicts import check_conflicts
from gpumerge_cli.cli.keyspec import LETTERS
from gpumerge_cli.cli.options import groups, typed
from gpumerge_cli.cli.options.commands import COMMANDS, command
from gpumerge_cli.cli.options.model import Argument, Command, Needs, NotWith, Option
from gpumerge_cli.cli.settings import Settings
from gpumerge_cli.cli.values import OptionValue, make_options, read_values
from gpumerge_cli.compare.key_shapes import KeyShape
from gpumerge_cli.engine.job import BackendChoice
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import Algorithm, KernelName, TileLoad, Transfer
from gpumerge_cli.order.asof import AsofDirection
from gpumerge_cli.order.equals import Kept, Only

ENDS = {"help", "version"}
"""Options that end the reading, so that no command has their values."""
TYPES = {"flag": bool, "number": int, "numbers": tuple[int, ...], "size": int, "count": int, "files": int}
NAMES = {
    "Literal": Literal, "KeyShape": KeyShape, "BackendChoice": BackendChoice, "Algorithm": Algorithm,
    "KernelName": KernelName, "TileLoad": TileLoad, "Transfer": Transfer, "Kept": Kept, "Only": Only,
    "AsofDirection": AsofDirection,
}  # fmt: skip


def hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, {**vars(groups), **vars(typed), **NAMES})


def types_of(hint: Any) -> set[Any]:
    """The members of a union, those of a Literal one by one."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple or not arguments:
        return {hint}
    return set().union(
        *(types_of(one) if isinstance(one, type) or typing.get_args(one) else {one} for one in arguments)
    )


def expected(option: Option) -> set[Any]:
    one = TYPES.get(option.kind, str)
    if option.multiple:
        return {tuple[one, ...]}
    return {one} | ({type(None)} if option.initial is None else set())


@pytest.mark.parametrize("name", typed.OPTION_TYPES)
def test_each_option_has_a_field_of_its_type(name: str) -> None:
    row, kind = command(name), typed.OPTION_TYPES[name]
    fields = {one: hint for one, hint in hints(kind).items() if one not in hints(groups.Options) or one == "debug"}
    arguments = {one.parameter: tuple[str, ...] if one.many else str for one in row.arguments}
    assert set(fields) - {"sequence"} == {*arguments, *(option.parameter for option in row.options)} - ENDS
    for parameter, hint in arguments.items():
        assert fields[parameter] == hint
    for option in row.options:
        if option.name not in ENDS:
            found = types_of(fields[option.parameter])
            words = {one for one in found if isinstance(one, str)}
            assert not words or words == set(option.choices), option
            words_alone = {str} if words and option.takes_value else set()
            assert (found - words) | words_alone == expected(option), option


@pytest.mark.parametrize("name", typed.OPTION_TYPES)
def test_defaults_are_those_of_the_rows(name: str) -> None:
    row = command(name)
    options = make_options(row, {}, ())
    assert options.command == name
    for option in row.options:
        if option.name not in (*ENDS, "count"):
            assert getattr(options, option.parameter) == option.initial
    assert not hasattr(options, "no_such_option")
    with pytest.raises(AttributeError):
        options.command = "other"
    assert options == make_options(row, {}, ()) == make_options(row, {}, ("debug",))
    changed = make_options(row, {"debug": True}, ())
    assert changed != options
    assert changed == options.changed(debug=True)
    assert "debug=True" in repr(changed)


def test_letters_are_those_of_the_rows() -> None:
    rows = [option for option in command("sort").options if option.letter and option.letter in LETTERS]
    joins = {option.parameter for option in command("join").options}
    assert len(rows) == len(LETTERS)
    for option in rows:
        options = make_options(command("sort"), {option.parameter: True}, ())
        assert isinstance(options, groups.LineOptions)
        assert options.letters == {option.letter}
        if option.parameter in joins:
            options = make_options(command("join"), {option.parameter: True}, ())
            assert isinstance(options, groups.LineOptions)
            assert options.letters == {option.letter}


def rules() -> Iterator[tuple[Command, Option | Argument, NotWith | Needs]]:
    for row in COMMANDS:
        for one in (*row.arguments, *row.options):
            yield from ((row, one, rule) for rule in one.not_with)
            if one.needs is not None:
                yield row, one, one.needs


def others_of(row: Command, rule: NotWith | Needs) -> list[Option | Argument]:
    named = {**row.named, **{one.parameter: one for one in row.arguments}}
    return [named[name] for name in rule.others if name in named]


def some(one: Option | Argument) -> Any:
    """A value that is not the default."""
    if isinstance(one, Argument):
        return ("a",)
    if one.multiple:
        return ("1",)
    return {"flag": True, "number": 7, "files": 7}.get(one.kind, "text")


def judged(row: Command, said: dict[str, Any], given: set[str]) -> str:
    """The error for these values beside the defaults, "" for none."""
    initial = {option.parameter: option.initial for option in row.options}
    values = {**initial, **{one.parameter: () for one in row.arguments}, **said}
    try:
        check_conflicts(row, values, given)
    except UsageError as error:
        return str(error)
    return ""


def test_rules_name_options_that_are_there() -> None:
    for option in {option for row in COMMANDS for option in row.options}:
        known = {name for row in COMMANDS if row.name in option.commands for name in row.named}
        known |= {one.parameter for row in COMMANDS if row.name in option.commands for one in row.arguments}
        for rule in (*option.not_with, *([option.needs] if option.needs else [])):
            assert set(rule.others) <= known, option


def test_every_pair_that_does_not_go_together_is_refused() -> None:
    pairs = 0
    for row, one, rule in rules():
        for other in others_of(row, rule) if isinstance(rule, NotWith) else ():
            said = {one.parameter: some(one), other.parameter: some(other)}
            needed = [found for each in (one, other) if each.needs for found in others_of(row, each.needs)[:1]]
            said |= {each.parameter: some(each) for each in needed}
            told = judged(row, said, set(said))
            assert "; " in told, (row.name, said)
            assert "{" not in told
            in_settings = judged(row, said, set(said) - {other.parameter})
            assert bool(in_settings) is rule.settings or needed, (row.name, said)
            pairs += 1
    assert pairs > 50


def test_every_option_that_needs_another_is_refused_alone() -> None:
    for row, one, rule in rules():
        if isinstance(rule, Needs):
            said = {one.parameter: some(one)}
            assert "; " in judged(row, said, set(said))
            assert bool(judged(row, said, set())) is rule.settings
            for other in others_of(row, rule):
                asked = {**said, other.parameter: some(other)}
                if other.needs is not None:
                    asked |= {one.parameter: some(one) for one in others_of(row, other.needs)[:1]}
                assert not judged(row, asked, set(said))


def test_a_flag_that_is_taken_back_goes_with_all() -> None:
    row = command("merge")
    said = {"compare": True, "unique": False}
    assert not judged(row, said, set(said))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("sort -c --only=singles a", "--only is only for sorts and merges; leave -c out"),
        ("merge --head 2 --only singles a", "--only needs the whole merge, so it cannot be combined with --head"),
        ("merge a --plan -o b", "--plan only plans; leave -o out, or leave --plan out"),
        ("merge a --plan --cluster local", "--plan is for this machine; leave --cluster out, or leave --plan out"),
        ("merge a --compare --unique", "--compare merges all items; leave -u out, or leave --compare out"),
        ("union a --compare --parts 2", "--compare writes no parts; leave --parts out, or leave --compare out"),
        ("union a --distinct --count", "--count counts equal items, and --distinct keeps one of them"),
        ("merge a --files0-from b", "a: files are named by --files0-from already; use one of the two"),
        ("join a b --type left -a 1", "--type and --unpaired both choose the lines to write; use one of them"),
        ("sort a --repeat 3", "--repeat is for comparisons; add --compare or leave --repeat out"),
        ("sort a --compare -m", "--compare sorts and writes no output; leave -m out, or leave --compare out"),
        ("sort a --compare -u -o b", "leave -o and -u out, or leave --compare out"),
        ("sort a --debug -c", "options -c --debug are incompatible; leave one out"),
        ("sort a -C --report r.md", "--report: a check writes no report; leave --report, or -c and -C, out"),
        ("sort a --run-log r", "--run-log is for sorts by a cluster; add --cluster, or leave --run-log out"),
        ("rank a --at 1 --report x.md", "--report is for the items of --range; add --range, or leave --report out"),
        ("rank a --at 1 --range 0:1", "--range writes only items, so it cannot be combined with --at"),
        ("batch a --resume-failed", "--resume-failed: no log was named; name it with --joblog"),
        ("bench a.json", "a.json: bench makes its own data; leave it out, or add --render"),
        ("path a --items 1 --items 2", "a: the inputs are given by --items already; use files or --items"),
        ("path --items 1 --items 2 --csv --dtype u1", "--items are numbers or lines; leave --dtype and --csv out"),
        ("info --config --measure", "--config only shows settings; leave --measure out, or leave --config out"),
    ],
)
def test_messages(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(words.split()) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("room", ["cli", "batch"])
def test_no_value_is_looked_up_by_a_text(room: str) -> None:
    """Only groups.py finds values by names of its tables. A text that getattr is given stands there as it is."""
    for path in (Path(gpumerge_cli.__file__).parent / room).rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr"]
        assert all(isinstance(call.args[1], ast.Constant) for call in calls), f"{path} looks up a field by a name"
        reads = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "__dict__"]
        assert not reads or path.name == "groups.py", f"{path} reads fields by their names"


def test_a_setting_of_what_a_comparison_does_not_make_gives_way() -> None:
    row = command("merge")
    told = [OptionValue(row.option("compare"), True, "--compare")]
    options = read_values(row, told, ["a"], Settings({"GPUMERGE_OUTPUT": "b", "GPUMERGE_MERGE_CLUSTER": "local"}))
    assert isinstance(options, typed.MergeOptions)
    assert options.compare
    with pytest.raises(UsageError, match="--compare merges all items"):
        read_values(row, told, ["a"], Settings({"GPUMERGE_MERGE_UNIQUE": "1"}))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--record-start", "(a)\\2("], "--record-start '(a)\\2(': "),
        (["--quotes", "a\nb"], "--quotes: invalid value 'a\\nb'; "),
        (["--quotes", "a'b"], "--quotes: invalid value \"a'b\"; "),
        (["-k", "a\n" * 50], "-k: invalid key '" + "a\\n" * 40 + "...'; "),
        (["--locale", "x\ny"], "--locale x\\ny: "),
        (["-t", "\\x|"], "-t '\\x|' has an unknown escape; "),
        *(([*words, "x" * 5000], "x" * 80 + "...") for words in (
            ["--locale"], ["--quotes"], ["-k"], ["--field"], ["-t"], ["-n", "--thousands"],
            ["--dtype"], ["--header"], ["-S"], ["--compression"],
        )),
    ],
)  # fmt: skip
def test_values_are_shown_as_they_were_given(
    words: list[str], told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    assert invoke(["merge", *words, str(tmp_path / "a.csv")]) == 2
    error = capfd.readouterr().err
    assert told in error
    assert len(error) < 1000
    assert error.count("\n") == 1
