"""The command lines of sets, compare and --count: held against comm and uniq, and what they refuse."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.options.commands import command
from tests import against_comm


@pytest.mark.skipif(
    not all(map(shutil.which, ("comm", "uniq", "sort", "bash"))),
    reason="needs comm, uniq, sort and bash; install coreutils and bash",
)
def test_random_command_lines_are_those_of_comm_and_uniq(capfd: pytest.CaptureFixture[str], seed: int) -> None:
    assert not against_comm.failures(seed, range(100)), (seed, capfd.readouterr().err)


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    (tmp_path / "a.txt").write_text("a 1\na 2\nb\nd\n")
    (tmp_path / "b.txt").write_text("a 3\nc\nd\n")
    (tmp_path / "a.i32").write_bytes(bytes(8))
    return [str(tmp_path / name) for name in ("a.txt", "b.txt", "a.i32")]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["union", "-k1,1"], "a 1|a 2|b|c|d|"),
        (["intersect", "-k1,1"], "a 1|d|"),
        (["difference", "-k1,1"], "a 2|b|"),
        (["difference", "--distinct", "-k1,1"], "b|"),
        (["symmetric"], "a 1|a 2|a 3|b|c|"),
        (["union", "--count", "-k1,1"], "      2 a 1|      1 b|      1 c|      1 d|"),
        (["union", "--last-resort", "-k1,1"], "a 1|a 2|a 3|b|c|d|"),
        (["intersect", "--last-resort", "-k1,1"], "d|"),
        (["difference", "--last-resort", "-k1,1"], "a 1|a 2|b|"),
        (["difference", "--last-resort", "--distinct", "-s", "-k1,1"], "a 1|a 2|b|"),
        (["merge", "--count=after", "--last-resort", "-k1,1"], "a 1\t1|a 2\t1|a 3\t1|b\t1|c\t1|d\t2|"),
        (["merge", "-u", "--last-resort", "-k1,1"], "a 1|b|c|d|"),
        (["compare", "--last-resort", "-k1,1"], "a 1|a 2|\ta 3|b|\tc|\t\td|"),
        (["merge", "--count=after", "-k1,1"], "a 1\t3|b\t1|c\t1|d\t2|"),
        (["sort", "--count", "-k1,1r"], "      2 d|      1 c|      1 b|      1 a 1|      1 a 2|      1 a 3|"),
        (["sort", "--count=after", "-u", "-k1,1"], "a 1\t3|b\t1|c\t1|d\t2|"),
        (["sort", "--count=after", "-s", "-S1b", "-k1,1"], "a 1\t3|b\t1|c\t1|d\t2|"),
        (["sort", "-m", "--count"], "      1 a 1|      1 a 2|      1 a 3|      1 b|      1 c|      2 d|"),
        (["compare", "-k1,1"], "\t\ta 1|a 2|b|\tc|\t\td|"),
        (["compare", "-12", "-k1,1"], "a 1|d|"),
        (["compare", "-13"], "a 3|c|"),
    ],
)
def test_keys_say_which_lines_are_equal(words: list[str], wanted: str, names: list[str], tmp_path: Path) -> None:
    command, *options = words
    assert invoke([command, *options, *names[:2], "-q", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text().replace("\n", "|") == wanted


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compare", "{a}"], "compare needs two files, not 1 file; name two"),
        (["compare", "{a}", "{b}", "{a}"], "compare needs two files, not 3 files"),
        (
            ["compare", "--output-delimiter=a", "--output-delimiter=b", "{a}", "{b}"],
            "--output-delimiter is given twice",
        ),
        (["union", "-t,", "-t;", "{a}"], "-t is given twice, as ',' and as ';'; leave one -t out"),
        (["compare", "{n}", "{n}"], "the columns have no place in this file"),
        (["merge", "--count", "{n}"], "--count has no place in this file, which is binary"),
        (["merge", "--count", "--only", "all-duplicates", "{a}"], "so it has no counts; use --only duplicates"),
        (["sort", "--count-to=c", "--only=all-duplicates", "{a}"], "so it has no counts; use --only duplicates"),
        (["merge", "-u", "--only", "singles", "{a}"], "-u keeps one of equal items, and --only chooses among them"),
        (["merge", "--unique=lsat", "{a}"], "--unique: invalid value 'lsat'; did you mean last?"),
        (["sort", "--unique=lsat", "{a}"], "--unique: invalid value 'lsat'; did you mean last?"),
        (["union", "--count", "--distinct", "{a}"], "use one of the two"),
        (["merge", "--count", "--compare", "{a}", "{b}"], "--compare counts nothing"),
        (
            ["compare", "--backend", "gpu", "{a}", "{b}"],
            "columns are made by the CPU alone; leave --backend gpu out",
        ),
        (["union", "{a}", "{n}"], "holds"),
        (["union"], "no file was named"),
        (["union", "--kernel", "path", "{a}"], "there is no option --kernel"),
        (["merge", "--count=beside", "{a}"], "invalid value 'beside'"),
        (["sort", "--count", "{n}"], "--count has no place in this file, which is binary"),
        (["sort", "--count", "--check", "{a}"], "options -co are incompatible"),
        (["sort", "--count", "--compare", "{a}"], "--compare sorts and writes no output"),
        (["sort", "--count=beside", "{a}"], "invalid value 'beside'"),
        (["merge", "--count", "--count-to", "c", "{a}"], "put the numbers in two places"),
        (["sort", "--count", "--count-to", "c", "{a}"], "put the numbers in two places"),
        (["merge", "--count-to", "{a}", "{a}"], "--count-to {a} would replace {a}"),
        (["sort", "--count-to", "{a}", "{a}"], "--count-to {a} would replace {a}"),
        (["union", "--count-to", "c", "--report", "c", "{a}"], "--report c would replace c"),
        (["union", "--count-to", "c", "--distinct", "{a}"], "--count-to counts equal items"),
        (["merge", "--count-to", "c", "--head", "2", "{a}"], "so it cannot be combined with --head"),
        (["merge", "--count-to", "c", "--compare", "{a}", "{b}"], "--compare counts nothing"),
        (["sort", "--count-to", "c", "--parts", "2", "{a}"], "--count-to writes the counts of one output"),
    ],
)
def test_what_is_refused(
    words: list[str], told: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = dict(zip(("a", "b", "n"), names, strict=True))
    output = str(tmp_path / "out")
    assert invoke([*(word.format(**files) for word in words), *([] if "--compare" in words else ["-o", output])]) == 2
    error = capsys.readouterr().err
    assert told.format(**files) in error
    assert error.count("\n") == 1
    assert not Path(output).exists()


@pytest.mark.parametrize("command", ["union", "intersect", "difference", "symmetric", "compare"])
def test_disorder_is_told(command: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.txt").write_text("b\na\n")
    assert invoke([command, names[0], str(tmp_path / "bad.txt"), "-o", str(tmp_path / "out")]) == 2
    assert "bad.txt:2: disorder: 'a' comes after 'b'" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [["-12"], ["-3"], []])
def test_a_comparison_is_reported_as_one(columns: list[str], names: list[str], tmp_path: Path) -> None:
    told, page = tmp_path / "report.json", tmp_path / "report.md"
    for report in (told, page):
        assert invoke(["compare", *columns, *names[:2], "-o", str(tmp_path / "out"), "--report", str(report)]) == 0
    assert json.loads(told.read_text())["kind"] == "compare"
    assert " items that share a line with equal ones, or are in no column that is shown" in page.read_text()


@pytest.mark.parametrize(("columns", "code"), [("-12", 0), ("-13", 0), ("-23", 0), ("-1", 2), ("", 2)])
def test_a_single_column_may_be_csv(columns: str, code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As the help says."""
    (tmp_path / "a.csv").write_text("id,n\n1,a\n")
    (tmp_path / "b.csv").write_text("id,n\n1,b\n2,a\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert invoke(["compare", *[columns][: len(columns)], "--field", "id", *files]) == code
    rows = {"-12": "1,a\n", "-13": "2,a\n", "-23": ""}
    captured = capfd.readouterr()
    assert captured.out == (f"id,n\n{rows[columns]}" if code == 0 else "")
    assert code == 0 or "the columns have no place in this file" in captured.err
    assert "(--csv, --field) and binary items need -12, -13 or -23" in command("compare").about


@pytest.mark.parametrize("columns", ["-12", "-13", "-23", "-1", "-3"])
def test_inputs_are_named_in_the_order_in_which_they_were_given(
    columns: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, out = tmp_path / "report.json", str(tmp_path / "out")
    assert invoke(["compare", columns, *names[:2], "-o", out, "--report", str(report)]) == 0
    told = [(one["name"], one["items"], one["nbytes"]) for one in json.loads(report.read_text())["inputs"]]
    assert told == [(names[0], 4, 12), (names[1], 3, 8)]
    missing = [str(tmp_path / name) for name in ("first", "second")]
    assert invoke(["compare", columns, *missing, "-o", out]) == 2
    assert f"{missing[0]}: " in capsys.readouterr().err


def test_a_job_counts_by_a_switch_and_is_done_again_without_its_counts(
    names: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs.toml").write_text(
        '[defaults]\ninputs = ["a.txt", "b.txt"]\noutput = "{job}.out"\n'
        '[[job]]\nname = "ahead"\noperation = "merge"\ncount = true\n'
        '[[job]]\nname = "all"\noperation = "merge"\ncount = false\n'
        '[[job]]\nname = "apart"\noperation = "union"\ncount-to = "apart.u64"\nreport = "apart.json"\n'
    )
    command = ["batch", str(tmp_path / "jobs.toml"), "--joblog", str(tmp_path / "log")]
    assert invoke(command) == 0
    lines = "".join((tmp_path / name).read_text() for name in ("a.txt", "b.txt")).splitlines()
    counted = [line.split(maxsplit=1) for line in (tmp_path / "ahead.out").read_text().splitlines()]
    assert {line: int(count) for count, line in counted} == Counter(lines)
    assert (tmp_path / "all.out").read_text().splitlines() == sorted(lines)
    (tmp_path / "apart.json").unlink()
    assert invoke([*command, "--resume"]) == 0
    assert "3 skipped" in capfd.readouterr().err
    (tmp_path / "apart.u64").unlink()
    assert invoke([*command, "--resume"]) == 0
    assert "1 done, 2 skipped" in capfd.readouterr().err
    assert (tmp_path / "apart.u64").exists()


def test_jobs_of_a_batch(names: list[str], tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(
        "[defaults]\n"
        'inputs = ["a.txt", "b.txt"]\noutput = "{job}.out"\nkey = ["1,1"]\n'
        '[[job]]\nname = "both"\noperation = "intersect"\n'
        '[[job]]\nname = "some"\noperation = "merge"\ncount = "after"\n'
        '[[job]]\nname = "sorted"\noperation = "sort"\ncount = "ahead"\nunique = true\n'
        '[[job]]\nname = "apart"\noperation = "union"\ncount-to = "{job}.u64"\n'
    )
    assert invoke(["batch", str(tmp_path / "jobs.toml"), "-q"]) == 0
    assert (tmp_path / "both.out").read_text() == "a 1\nd\n"
    assert (tmp_path / "some.out").read_text() == "a 1\t3\nb\t1\nc\t1\nd\t2\n"
    assert np.fromfile(tmp_path / "apart.u64", "<u8").tolist() == [2, 1, 1, 1]
    assert (tmp_path / "sorted.out").read_text() == "      3 a 1\n      1 b\n      1 c\n      2 d\n"


def test_a_batch_judges_places_of_counts_ahead(
    names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = '[[job]]\noperation = "merge"\ninputs = ["a.txt"]\n'
    for first, second, told in (
        ("1.u64", "2.txt", "2.txt: uint64 cannot be written as .txt"),
        ("1.u64", "1.u64", "1.u64 is written by job"),
        ("1.u64", "1.out", "--count-to"),
    ):
        one, other = f'output = "0.out"\ncount-to = "{first}"\n', f'output = "1.out"\ncount-to = "{second}"\n'
        (tmp_path / "jobs.toml").write_text(job + one + job + other)
        assert invoke(["batch", str(tmp_path / "jobs.toml"), "-q"]) == 2
        assert told in capsys.readouterr().err
        assert not list(tmp_path.glob("*.out"))


@pytest.mark.parametrize("memory", [None, "1b"])
def test_sorted_lines_are_counted_in_memory_and_spilled(memory: str | None, tmp_path: Path) -> None:
    """Equal lines lie in several pieces, and in several parts of the output."""
    chance = random.Random(3)
    lines = [f"{chance.randrange(40)} {'x' * chance.randrange(60)}" for _ in range(9_000)]
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in lines))
    counts = Counter(lines)
    wanted = "".join(f"{counts[line]:7} {line}\n" for line in sorted(counts))
    words = ["sort", "--count", str(tmp_path / "in.txt"), *(["-S", memory] if memory else [])]
    assert invoke([*words, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == wanted
    assert invoke([*words, "--parts", "3", "-o", str(tmp_path / "{part}.out")]) == 0
    assert "".join((tmp_path / f"{part}.out").read_text() for part in range(3)) == wanted


@pytest.mark.parametrize("command", ["merge", "sort", "union"])
def test_counts_in_a_file_of_their_own(command: str, names: list[str], tmp_path: Path) -> None:
    words = ["-u"] * (command == "sort") + ["-k1,1", "--count-to", str(tmp_path / "counts.npy")]
    assert invoke([command, *words, *names[:2], "-q", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == "a 1\nb\nc\nd\n"
    wanted = [2, 1, 1, 1] if command == "union" else [3, 1, 1, 2]
    assert np.load(tmp_path / "counts.npy").tolist() == wanted


def test_counts_and_output_cannot_both_be_standard_output(names: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["merge", "--count-to", "-", names[0]]) == 2
    assert "the output and its counts would go to one place" in capfd.readouterr().err


@pytest.mark.parametrize("option", ["-c", "-C", "--debug"])
def test_checks_count_nothing(option: str, names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["sort", "--count", option, names[0]]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith(f"gpumerge: --count is only for sorts and merges; leave {option} out\n")
