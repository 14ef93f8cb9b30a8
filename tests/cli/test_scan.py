"""The scanner of command lines reads what getopt_long reads."""

from __future__ import annotations

import getopt
import random
from collections import deque
from dataclasses import replace

import pytest

from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.options.commands import COMMANDS, command
from gpumerge_cli.cli.options.model import Command, Option
from gpumerge_cli.cli.scan import ENDING, Operand, last_value, read_words, scan
from gpumerge_cli.errors import UsageError

SEEDS = 30
LINES = 20
OTHERS = [one for one in COMMANDS[1:] if one.name != "sort"]
LONG_NAMES = {name for one in COMMANDS for option in one.options for name in option.names}


def without_optional_values(row: Command) -> Command:
    """The command without the options of which Python's getopt knows nothing."""
    return replace(row, rows=tuple(one for one in row.rows if not one.may_have_value))


def by_getopt(row: Command, words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    letters = "".join(one.letter + ":" * one.takes_value for one in row.options if one.letter)
    longs = [name[2:] + "=" * one.takes_value for one in row.options for name in one.names if name.startswith("--")]
    off = {name for one in row.options for name in one.off_names}
    off |= {f"--no-{long}" for one in row.options if one.name not in ENDING for long in longs_of(one)}
    return getopt.gnu_getopt(words, letters, [*longs, *(name[2:] for name in off)])


def longs_of(option: Option) -> list[str]:
    """The long names of a switch, without dashes."""
    return [] if option.takes_value else [name[2:] for name in option.names if name.startswith("--")]


def scanned(row: Command, words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    found = list(scan(row, deque(words)))
    told = [one for one in found if not isinstance(one, Operand)]
    operands = [one.text for one in found if isinstance(one, Operand)]
    return [(one.written, one.value if one.option.takes_value else "") for one in told], operands


def is_shortened(row: Command, word: str) -> bool:
    """Whether a word begins a long name of the command that coreutils does not have, and may not be shortened."""
    written = word.partition("=")[0]
    whole = {*row.by_written_name, *(f"--{one.off}" for one in row.options)}
    gnu = [f"--{one.gnu_name}" for one in row.options if one.gnu_name and f"--{one.gnu_name}" in row.by_written_name]
    return word.startswith("--") and written not in whole and not any(name.startswith(written) for name in gnu)


def words_of(row: Command, chance: random.Random) -> list[str]:
    """A command line with options in all their ways, and with mistakes."""
    pieces = [[word] for word in chance.choices(["a.txt", "-", "", "--", "--nonsense", "-Q"], [9, 3, 1, 1, 1, 1], k=2)]
    for option in chance.choices(row.options, k=chance.randrange(5)):
        name = chance.choice([*option.names, *option.off_names, f"--no-{option.name}"])
        if name.startswith("--") and chance.random() < 0.5:
            name = name[: chance.randint(3, len(name))]
        value = chance.choice(["1", "x", "-x", "--count", "", "a=b"])
        joined = f"{name}={value}" if name.startswith("--") else name + value
        second = [name, value] if option.takes_value else [name]
        pieces.append(chance.choice([[joined], second, second, [name]]))
    letters = [one.letter for one in row.options if one.letter]
    pieces += [["-" + "".join(chance.choices(letters, k=3))] for _ in range(chance.randrange(2)) if letters]
    chance.shuffle(pieces)
    return [word for piece in pieces for word in piece]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", [one.name for one in OTHERS])
def test_it_reads_what_getopt_reads(name: str, seed: int) -> None:
    row, chance = without_optional_values(command(name)), random.Random(f"{name} {seed}")
    for _ in range(LINES):
        words = words_of(row, chance)
        try:
            expected = by_getopt(row, words)
        except getopt.GetoptError as error:
            if "not a unique prefix" not in error.msg:  # names of one option may share a beginning
                with pytest.raises(UsageError):
                    scanned(row, words)
            continue
        if any(word.partition("=")[0] in LONG_NAMES - row.by_written_name.keys() for word in words):
            continue  # which are names of other commands, not shortened ones
        if any(is_shortened(row, word) for word in words):
            continue
        assert scanned(row, words) == expected, words


def test_optional_values_stand_behind_an_equals_sign() -> None:
    for words, value, operands in (
        (["--count", "a"], "ahead", ["a"]),
        (["--count=behind", "a"], "behind", ["a"]),
        (["--count="], "", []),
    ):
        assert scanned(command("merge"), words) == ([("--count", value)], operands)


@pytest.mark.parametrize("name", ["merge", "sort"])
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("-u=last", "-u takes no value, here 'last'; write --unique=last"),
        ("-nulast", "-u takes no value, here 'last'; write --unique=last"),
        ("-u=first", "-u takes no value, here 'first'; write --unique=first"),
        ("-u=x", "-u takes no value, here 'x'; write --unique=first|last"),
        ("-n=3", "there is no option -="),
        ("-ulost", "there is no option -l"),
    ],
)
def test_a_value_behind_the_letter_of_a_switch(name: str, word: str, told: str) -> None:
    with pytest.raises(UsageError) as found:
        scanned(command(name), [word, "a"])
    assert f"{found.value.what}; {found.value.way_out}".startswith(told)


def test_switches_are_turned_off() -> None:
    for written, value in (("--quiet", True), ("--no-quiet", False), ("-q", True)):
        (one,) = scan(command("merge"), deque([written]))
        assert not isinstance(one, Operand)
        assert (one.option.name, one.value) == ("quiet", value)
    for refused in (["merge", "--no-help"], ["merge", "--no-output"], ["sort", "--no-quiet"]):
        with pytest.raises(UsageError, match="there is no option --no-"):
            list(scan(command(refused[0]), deque(refused[1:])))


def test_words_are_taken_one_by_one() -> None:
    left = deque(["-q", "a", "--nonsense"])
    words = scan(command("merge"), left)
    next(words)
    assert left == deque(["a", "--nonsense"])
    assert next(words) == Operand("a", behind=False)
    with pytest.raises(UsageError, match="no option --nonsense"):
        next(words)


def test_help_ends_the_reading_but_for_unknown_options() -> None:
    merge = command("merge")
    assert read_words(merge, ["--threads", "x", "--help", "a"]) is None
    assert read_words(merge, ["--hel"]) is None
    assert read_words(merge, ["-o", "--help"]) is not None
    with pytest.raises(UsageError, match="no option --nonsense"):
        read_words(merge, ["--help", "--nonsense"])


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("batch", "", "JOBS is missing; see gpumerge batch --help"),
        ("batch", "a b", "unexpected argument 'b'; see gpumerge batch --help"),
        ("batch", "a -- -h", "unexpected argument '-h'; see gpumerge batch --help"),
        ("generate", "-c 3", "FILES is missing; see gpumerge generate --help"),
    ],
)
def test_operands_that_do_not_fit(name: str, words: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_words(command(name), words.split())
    assert str(caught.value) == said


def test_the_last_value_of_an_option_is_known_whatever_else_is_wrong() -> None:
    merge = command("merge")
    for words, state in (
        ("a -o --debug", None),
        ("a -- --debug", None),
        ("--nonsense --traceback", True),
        ("-Qk --debug --debug --no-debug -Q", False),
        ("--debug -o", True),
    ):
        assert last_value(merge, words.split(), merge.option("debug")) is state
    for words, value in (
        ("a -o --format=csv", None),
        ("-Q --format=csv --format text -Q -- --format=arrow", "text"),
    ):
        assert last_value(merge, words.split(), merge.option("format")) == value
    sort = command("sort")
    for words, value in (("+1 -2 --format csv a", "csv"), ("a --format csv", None)):
        assert last_value(sort, words.split(), sort.option("format"), posix=True) == value


def test_what_is_given_is_known() -> None:
    values = read_words(command("merge"), ["--no-quiet", "-k1", "--field", "id", "-k2", "a", "b"])
    assert values is not None
    assert values.given == {"quiet", "key", "field", "files"}
    assert values.sequence == ("key", "field", "key")
    assert (values.quiet, values.key, values.files) == (False, ("1", "2"), ("a", "b"))


@pytest.mark.parametrize("name", ["", "merge", "check"])
def test_the_help_says_which_long_options_may_be_shortened(name: str) -> None:
    text = " ".join(help_text(name, whole=True).split())
    assert "Long names that coreutils has for the same purpose, as --numeric-sort, may be shortened" in text
