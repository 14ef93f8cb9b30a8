"""gpumerge sort parses and refuses command lines as GNU sort does."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.gnu import SortCommand, check_operands, parse_sort
from gpumerge_cli.cli.gnu_values import SATURATED
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.typed import SortOptions
from gpumerge_cli.cli.values import read_value
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder

SECOND = LineKey(start_field=1)
POSIX_2001 = {"_POSIX2_VERSION": "200112"}


def parse(*arguments: str, **environ: str) -> SortCommand:
    return parse_sort(arguments, environ)


def keys(*arguments: str, **environ: str) -> tuple[LineKey, ...]:
    return parse(*arguments, **environ).order.keys


def refusal(*arguments: str, **environ: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(*arguments, **environ)
    assert caught.value.way_out
    return caught.value


def test_nothing_said() -> None:
    assert parse() == SortCommand(mode="sort", files=("-",), order=LineOrder())


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ("1", LineKey()),
        ("2", LineKey(start_field=1)),
        ("2,2", LineKey(start_field=1, end_field=1)),
        ("2.3,4.5", LineKey(start_field=1, start_char=2, end_field=3, end_char=5)),
        ("1,3.0", LineKey(end_field=2)),
        (" 1,+2", LineKey(end_field=1)),
        ("01.02", LineKey(start_char=1)),
        ("1n", LineKey("numeric")),
        ("1,1n", LineKey("numeric", end_field=0)),
        ("1g,1", LineKey("general", end_field=0)),
        ("1h", LineKey("human")),
        ("1M", LineKey("month")),
        ("1V", LineKey("version")),
        ("1R", LineKey("random")),
        ("1VR", LineKey("random")),
        ("1dV", LineKey("version", dictionary=True)),
        ("1di", LineKey(dictionary=True)),
        ("1id", LineKey(dictionary=True)),
        ("1i,1f", LineKey(printable=True, fold=True, end_field=0)),
        ("1nrrf", LineKey("numeric", reverse=True, fold=True)),
        ("1b", LineKey(skip_start=True)),
        ("1b,2.1", LineKey(end_field=1, end_char=1, skip_start=True)),
        ("1,2.1b", LineKey(end_field=1, end_char=1, skip_end=True)),
        ("1,2b", LineKey(end_field=1)),
        (f"{10**30},{'9' * 5000}", LineKey(start_field=SATURATED, end_field=SATURATED)),
        (f"1.{2**64},2.{2**63}", LineKey(start_char=SATURATED, end_field=1, end_char=SATURATED)),
    ],
)
def test_a_key(spec: str, key: LineKey) -> None:
    for arguments in (["-k", spec], [f"-k{spec}"], ["--key", spec], [f"--key={spec}"], [f"-zk{spec}"]):
        assert keys(*arguments) == (key,)
    parse("-k", spec).order.table()


@pytest.mark.parametrize(
    "spec",
    [
        *("", "0", "1.0", "1,0", "1,0.1", "0,1", "1.", "1.,2", "1,", "1,2.", "x", "1x", "1.2x", "1,2x", "1,2n,3"),
        *("-1", "1,-1", "1.-1", "1 ", "1n ", "1 n", "n1", ".1", ",1", "1,,2", "1.1.1", "++1", "1\n", "１", "1é"),
        *("1ng", "1n,1g", "1hn", "1in", "1dn", "1Rn", "1VM", "1Vg", "1gh", "1Mn"),
    ],
)
def test_what_is_no_key(spec: str) -> None:
    assert refusal("-k", spec).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        (["-n"], LineOrder((LineKey("numeric"),))),
        (["-nr"], LineOrder((LineKey("numeric", reverse=True),), reverse=True)),
        (["-b"], LineOrder((LineKey(skip_start=True),))),
        (["-r"], LineOrder(reverse=True)),
        (["-s"], LineOrder(stable=True)),
        (["-u"], LineOrder(stable=True)),
        (["-k1", "-n"], LineOrder((LineKey("numeric"),))),
        (["-k1r", "-n"], LineOrder((LineKey(reverse=True),))),
        (["-k1b", "-n"], LineOrder((LineKey(skip_start=True),))),
        (["-k1,1.2", "-b"], LineOrder((LineKey(end_field=0, end_char=2, skip_start=True, skip_end=True),))),
        (["-k1", "-r"], LineOrder((LineKey(reverse=True),), reverse=True)),
        (["-k1f", "-r"], LineOrder((LineKey(fold=True),), reverse=True)),
        (["-k2M", "-f", "-k1"], LineOrder((LineKey("month", start_field=1), LineKey(fold=True)))),
        # Global options that no key takes need not go together.
        (["-ng", "-k1b"], LineOrder((LineKey(skip_start=True),))),
        (["-z"], LineOrder(terminator=NUL)),
        (["-t,"], LineOrder(separator=b",")),
        (["-t", "\\0"], LineOrder(separator=b"\0")),
        (["-t", "\\t"], LineOrder(separator=b"\t")),
        (["-t", "\n"], LineOrder(separator=b"\n")),
        (["-t\udce9"], LineOrder(separator=b"\xe9")),
        (["-t||"], LineOrder(separator=b"||")),
        (["-t§"], LineOrder(separator="§".encode())),
        (["-t,", "--field-sep=,"], LineOrder(separator=b",")),
    ],
)
def test_an_order(arguments: list[str], order: LineOrder) -> None:
    assert parse(*arguments).order == order


@pytest.mark.parametrize(
    ("arguments", "environ", "said", "files"),
    [
        (["+1", "-2"], {}, [LineKey(start_field=1, end_field=1)], ["-"]),
        (["+1.2n", "-2.1b"], {}, [LineKey("numeric", 1, 2, 2, 1, skip_end=True)], ["-"]),
        (["+0", "-0"], {}, [LineKey(end_field=0)], ["-"]),
        (["-k2", "f", "+0", "-1", "-k2"], {}, [SECOND, LineKey(end_field=0), SECOND], ["f"]),
        (["-r", "+0n", "-1", "+1"], {}, [LineKey("numeric", end_field=0), LineKey(start_field=1, reverse=True)], ["-"]),
        (["+1"], {}, [SECOND], ["-"]),
        (["+1"], {"_POSIX2_VERSION": "199209"}, [SECOND], ["-"]),
        (["+1"], {"_POSIX2_VERSION": "200809"}, [SECOND], ["-"]),
        (["+1"], {"_POSIX2_VERSION": "x"}, [SECOND], ["-"]),
        (["+1"], POSIX_2001, [], ["+1"]),
        (["+1", "+1", "-2", "+1"], POSIX_2001, [LineKey(start_field=1, end_field=1), SECOND], ["+1"]),
        (["+1", "-2"], {**POSIX_2001, "POSIXLY_CORRECT": ""}, [], ["+1", "-2"]),
        (["+1x", "+", "+n"], {}, [], ["+1x", "+", "+n"]),
        (["--", "+1", "-2"], {}, [], ["+1", "-2"]),
        (["+1", "--", "-2"], {}, [SECOND], ["-2"]),
        (["+x", "-n"], {"POSIXLY_CORRECT": ""}, [], ["+x", "-n"]),
    ],
)  # fmt: skip
def test_obsolete_keys(arguments: list[str], environ: dict[str, str], said: list[LineKey], files: list[str]) -> None:
    command = parse(*arguments, **environ)
    assert list(command.order.keys) == said
    assert list(command.files) == files


@pytest.mark.parametrize("arguments", [["+1", "-2x"], ["+1", "-2."], ["+1x", "-2"], ["+1n", "-2g"], ["-1"]])
def test_what_is_no_obsolete_key(arguments: list[str]) -> None:
    assert refusal(*arguments).exit_code == 2


@pytest.mark.parametrize("letter", "bdfghiMnRrV")
def test_long_names_of_ordering_options(letter: str) -> None:
    name = {
        "b": "ignore-leading-blanks",
        "d": "dictionary-order",
        "f": "ignore-case",
        "g": "general-numeric-sort",
        "h": "human-numeric-sort",
        "i": "ignore-nonprinting",
        "M": "month-sort",
        "n": "numeric-sort",
        "R": "random-sort",
        "r": "reverse",
        "V": "version-sort",
    }[letter]
    order = parse(f"-{letter}").order
    assert parse(f"--{name}").order == parse(f"--{name[:-1]}").order == order
    assert [key.compare for key in order.keys if key.kind.file_option] == ["random"] * (letter == "R")
    assert "takes no value" in refusal(f"--{name}=1").what


@pytest.mark.parametrize(
    ("word", "letter"),
    [
        *(("general-numeric", "g"), ("human-numeric", "h"), ("month", "M"), ("numeric", "n"), ("random", "R")),
        *(("version", "V"), ("mont", "M"), ("v", "V"), ("general-", "g")),
    ],
)
def test_sort_words(word: str, letter: str) -> None:
    assert parse(f"--sort={word}") == parse("--so", word)
    assert parse(f"--sort={word}").order == parse(f"-{letter}").order


@pytest.mark.parametrize("arguments", [["--sort=x"], ["--sort="], ["--sort=months"], ["--check=x"], ["--check="]])
def test_words_that_are_none(arguments: list[str]) -> None:
    assert refusal(*arguments).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        ([], "sort"),
        (["-m"], "merge"),
        (["--merge", "-c"], "check"),
        (["-c", "--check"], "check"),
        (["--check=diagnose-first"], "check"),
        (["--ch=d"], "check"),
        (["-C", "--check=quiet", "--che=silent"], "check-quiet"),
        (["--ch=s"], "check-quiet"),
        (["--help", "-k0"], "help"),
        (["-n", "-g", "--he"], "help"),
        (["--version", "--nonsense"], "version"),
        (["--vers"], "sort"),
    ],
)
def test_modes(arguments: list[str], mode: str) -> None:
    if arguments == ["--vers"]:
        assert "ambiguous" in refusal(*arguments).what
    else:
        assert parse(*arguments).mode == mode


def test_every_option_at_once() -> None:
    command = parse(
        *("-mus", "b", "-o", "out", "a", "-S1M", "-T", "/x", "--temporary-directory=/y", "--parallel", "3"),
        *("--batch-size=7", "--compress-program=gzip", "--random-source=seed", "--compressed", "-z"),
        *("--backend", "cpu", "--device=1", "--header", "2", "--csv", "--report=r.json", "--kernel", "basic"),
        *("--algorithm", "radix", "--no-progress", "--", "-c"),
    )
    assert (command.mode, command.files) == ("merge", ("b", "a", "-c"))
    assert command.order == LineOrder(stable=True, terminator=NUL)
    expected = {
        "merge": True, "unique": True, "stable": True, "zero_terminated": True, "output": "out", "memory": 1 << 20,
        "threads": 3, "batch_size": 7, "temporary_directory": ("/x", "/y"), "compress_program": "gzip",
        "random_source": "seed", "backend": "cpu", "device": (1,), "header": 2, "csv": True, "report": "r.json",
        "kernel": "basic", "algorithm": "radix", "progress": False, "compressed": True, "files": ("b", "a", "-c"),
    }  # fmt: skip
    others = parse().options
    said = {one: getattr(command.options, one) for one in SortOptions.field_names() if one != "given"}
    assert {one: value for one, value in said.items() if value != getattr(others, one)} == expected


def test_names_of_other_commands_are_taken() -> None:
    values = parse("--memory=100M", "--threads", "2", "-q", "-v", "--fsync", "--traceback").options
    assert (values.memory, values.threads) == (100 << 20, 2)
    assert values.quiet
    assert values.verbose
    assert values.fsync
    assert parse("--memory", "1G", "-S1").options.memory == 1 << 30
    for option in ("--memory=1x", "--threads=0", "--memor=1", "--thread=1"):
        assert refusal(option).exit_code == 2


def test_lists_of_names() -> None:
    command = parse("--files0-from", "a", "--files0-from=b", "-c")
    assert (command.options.files0_from, command.files) == ("b", ())
    check_operands(command, ["x"])
    with pytest.raises(UsageError, match="only one file"):
        check_operands(command, ["x", "y"])


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("1", 1024), ("0", 0), (" +2", 2048), ("3b", 3), ("1k", 1 << 10), ("1K", 1 << 10), ("m", 1 << 20)),
        *(("2M", 2 << 20), ("1g", 1 << 30), ("1G", 1 << 30), ("1t", 1 << 40), ("1P", 1 << 50), ("15E", 15 << 60)),
        (f"{2**64 - 1}b", 2**64 - 1),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse("-S", text).options.memory == size
    assert parse("--memory", text).options.memory == size
    assert parse("-S", text, "--buffer-size=1b").options.memory == max(size, 1), "the largest counts"


def test_a_share_of_the_memory() -> None:
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert parse("-S50%").options.memory == parse("--memory=50%").options.memory == whole // 2


@pytest.mark.parametrize(
    "text",
    [
        *("", "b", "%", "x", "1x", "kB", "1bb", "-1", "1.5", "1.5%", "8zz"),
        *("16E", "1Y", "1Z", str(2**64), f"{2**64}b", f"{10**17}%", f"{2**64}%"),
    ],
)
def test_what_is_no_size(text: str) -> None:
    for option in ("-S", "--buffer-size", "--memory"):
        assert refusal(option, text).exit_code == 2
        assert option in str(refusal(option, text))


def test_batch_sizes_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 61
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    assert parse(f"--batch-size={most}").options.batch_size == most
    assert parse("--batch-size= +2").options.batch_size == 2
    assert parse(f"--parallel={10**30}").options.threads == SATURATED
    for text in ("", "0", "1", "a", "-2", "2k", str(most + 1), str(2**64), str(2**64 + 5)):
        assert "--batch-size" in refusal("--batch-size", text).what
    for text in ("", "0", "00", "a", "-1", "1k"):
        assert "--parallel" in refusal("--parallel", text).what


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ["-cC"],
            ["-c", "--report=c.html"],
            ["-C", "--report=c.html"],
            ["-c", "--check=quiet"],
            ["-c", "-o", "x"],
            ["-C", "-ox"],
            ["-c", "a", "b"],
            ["-C", "a", "b"],
        ),
        *(["-hn"], ["-in"], ["-dg"], ["-iM"], ["-Rn"], ["--sort=random", "-n"], ["-gn"], ["-Vh"], ["-n", "-k1", "-M"]),
        *(["-o", "a", "-o", "b"], ["--compress-program=a", "--compress-program=b"]),
        *(
            ["--random-source=a", "--random-source=b"],
            ["-ta", "-tb"],
            ["-t", ""],
            ["-tabcdefgh"],
            ["-ta\nb"],
            ["-t\\n"],
        ),
        *(["--files0-from=a", "b"], ["--files0-from=a", "-"], ["-j"], ["-nx"], ["--nonsense"], ["--c"], ["--r"]),
        *(["--=x"], ["---"], ["-k"], ["-t"], ["--key"], ["-y"], ["-cC", "--help"], ["-k0", "--help"]),
        *(["--backen", "cpu"], ["--cs"], ["--backend=x"], ["--kernel=x"], ["--device=x"], ["--header=-1"], ["--csv=1"]),
    ],
)
def test_refusals(arguments: list[str]) -> None:
    error = refusal(*arguments)
    assert error.exit_code == 2
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "arguments",
    [
        *(["-RV"], ["-dV"], ["-diRV"], ["-fn"], ["-bn"], ["-cm"], ["-cu"], ["-oa", "-oa"], ["-y", "5"], ["-y5"]),
        *(["-y", "x"], ["-ny", ""], ["--rev"], ["--dict"], ["--z"], ["--he"], ["--o=x"], ["-", "-"]),
    ],
)
def test_what_is_no_contradiction(arguments: list[str]) -> None:
    parse(*arguments)


def test_old_option_takes_digits_only() -> None:
    assert parse("-y", "5", "x").files == ("x",)
    assert parse("-y", "x").files == ("x",)


def test_posixly_correct_ends_options_at_the_first_file() -> None:
    assert parse("-n", "a", "-r", "--", "b").files == ("a", "b")
    assert parse("-n", "a", "-r", "--", "b", POSIXLY_CORRECT="1").files == ("a", "-r", "--", "b")
    command = parse("a", "b", "-o", "c", "-r", "-o", POSIXLY_CORRECT="1")
    assert (command.files, command.options.output) == (("a", "b", "-r", "-o"), "c")
    assert parse("a", "-oc", POSIXLY_CORRECT="1", **POSIX_2001).files == ("a", "-oc")


def test_gpus_are_listed() -> None:
    assert parse("--device=0,1,0").options.device == (0, 1)
    assert parse("--device", "all").options.device == ()
    assert parse().options.device is None
    for wrong in ("0,", "-1", "every", ""):
        assert str(refusal(f"--device={wrong}")) == (
            f"--device: invalid list of numbers {wrong!r}; write one as 0, several as 0,1, or all"
        )


@pytest.mark.parametrize("name", ["merge", "check", "batch"])
@pytest.mark.parametrize("written", ["-S", "--memory"])
def test_memory_is_read_alike_in_every_command(name: str, written: str) -> None:
    option = command(name).option("memory")
    for text in ("100", "100b", "3M", "25%", "2GiB", "2GB", "1.5G"):
        assert read_value(option, text, written) == parse_sort([written, text]).options.memory
    assert read_value(option, "100") == 100 << 10
    assert read_value(option, "2GB") == 2 * 10**9
    for text in ("0", "1x", "1.5", "-1"):
        with pytest.raises(UsageError, match=f"{written}:? "):
            read_value(option, text, written)


@pytest.mark.parametrize("words", ["-S 1x", "-S1x", "--memory 1x", "--memory=1x", "-q -S 1x"])
@pytest.mark.parametrize("name", ["merge", "check", "sort"])
def test_messages_name_the_option_as_it_is_written(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([name, *words.split(), "a"]) == 2
    written = "--memory" if "--memory" in words else "-S"
    assert capsys.readouterr().err.startswith(f"gpumerge: {written}: invalid size '1x'")


@pytest.mark.parametrize("option", ["--csv", "--format=csv"])
def test_a_key_is_the_name_of_a_column_only_where_the_option_is_one(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("s.csv", option):
        Path(name).write_text("id,amount\n1,9\n")
    assert parse("-k", "amount", "s.csv", option).files == ("s.csv",)
    assert parse(option, "-k", "amount", "s.csv", POSIXLY_CORRECT="1").files == ("s.csv",)
    for words in (["--", "s.csv", option], ["-o", option, "s.csv"], ["s.csv", "-o", option], ["-T", option]):
        assert "invalid key 'amount'" in refusal("-k", "amount", *words).what
    assert "invalid key 'amount'" in refusal("-k", "amount", "s.csv", option, POSIXLY_CORRECT="1").what
    assert "invalid key 'amount'" in refusal("-k", "amount", "-o", "--format", "csv").what
