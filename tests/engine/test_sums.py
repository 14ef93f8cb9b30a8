"""--sum and --counted against plain Python, in all forms of text, at borders of chunks, with threads and runs."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from tests.seeds import given_or_random_seed
from tests.sums import csv_text, drawn, json_line, summed

_CASES = 60


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    Path(name).write_bytes(text.encode())


def run(*words: str) -> bytes:
    """The output of a command that ends well."""
    assert invoke([*words, "-q", "-o", "out"]) == 0, words
    return Path("out").read_bytes()


def resources(chance: random.Random, command: str) -> list[str]:
    """Options of threads and memory that cut chunks and runs in other ways."""
    found = [f"--threads={chance.randint(1, 3)}"]
    return [*found, chance.choice(["-S64K", "-S1M"])] if command == "sort" and chance.random() < 0.5 else found


def check_lines(chance: random.Random) -> None:
    command = chance.choice(["merge", "sort"])
    columns, blanks = chance.randint(1, 3), chance.random() < 0.3
    runs = drawn(chance, columns, ordered=command == "merge")
    if blanks:
        runs = [[(key, [text or "0" for text in texts]) for key, texts in rows] for rows in runs]
    last = chance.random() < 0.3
    between = " " if blanks else ";"
    names = []
    for at, rows in enumerate(runs):
        write(
            f"{at}.txt",
            "".join(between.join([*texts, key, f"{at} {row}"]) + "\n" for row, (key, texts) in enumerate(rows)),
        )
        names.append(f"{at}.txt")
    expected = "".join(
        between.join([*sums, key, f"{at} {row}"]) + "\n" for key, sums, at, row in summed(runs, last=last)
    )
    place = columns + 1
    keys = ["-b", f"-k{place},{place}"] if blanks else [f"-t{between}", f"-k{place},{place}"]
    asked = [f"--sum={','.join(map(str, range(1, columns + 1)))}", *["--unique=last"] * last]
    assert run(command, *keys, *asked, *resources(chance, command), *names).decode() == expected


def check_csv(chance: random.Random) -> None:
    command = chance.choice(["merge", "sort"])
    runs, last = drawn(chance, 2, ordered=command == "merge"), chance.random() < 0.3
    kind = chance.choice(["plain", "quoted", "newlines", "odd", "doubled"])
    quotes = csv.QUOTE_MINIMAL if kind == "plain" else csv.QUOTE_ALL
    extra = {"plain": "x", "quoted": "a,b", "newlines": "a\nb", "odd": "o", "doubled": '5" x'}[kind]
    names, head = [], ["n", "id", "note", "m"]
    by_name = chance.random() < 0.7

    def record(key: str, sums: Sequence[str], at: int, row: int) -> list[str]:
        return [sums[0], key, f"{extra}{at} {row}", sums[1]]

    for at, rows in enumerate(runs):
        found = [record(key, texts, at, row) for row, (key, texts) in enumerate(rows)]
        text = csv_text([*[head] * by_name, *found], quotes=quotes)
        write(f"{at}.csv", text.replace('"o', 'o"') if kind == "odd" else text)
        names.append(f"{at}.csv")
    expected = [record(key, sums, at, row) for key, sums, at, row in summed(runs, last=last)]
    keys, asked = (["--field=id"], "n,m") if by_name else (["-k2,2"], "4,1")
    words = ["--csv", *keys, f"--sum={asked}", *["--unique=last"] * last, *resources(chance, command)]
    given = run(command, *words, *names).decode()
    if kind == "odd":
        expected_text = csv_text([*[head] * by_name, *expected], quotes=quotes).replace('"o', 'o"')
        assert given == expected_text
    else:
        assert [*csv.reader(given.splitlines(keepends=True))] == [*[head] * by_name, *expected]
        if kind != "plain":
            assert given == csv_text([*[head] * by_name, *expected], quotes=quotes)


def check_json(chance: random.Random) -> None:
    command = chance.choice(["merge", "sort"])
    runs, last = drawn(chance, 2, ordered=command == "merge", json_only=True), chance.random() < 0.3
    runs = [
        [(key, [chance.choice([text, text, "null", ""]) for text in texts]) for key, texts in rows] for rows in runs
    ]
    values = [[(key, ["" if text == "null" else text for text in texts]) for key, texts in rows] for rows in runs]

    def line(key: str, texts: Sequence[str], at: int, row: int) -> str:
        outer = [("at", f'"{at} {row}"'), ("k", json.dumps(key)), *[("n", texts[0])] * (texts[0] != "")]
        return json_line([*outer, ("in", json_line([("m", texts[1] or "null")]))])

    names = []
    for at, rows in enumerate(runs):
        write(f"{at}.jsonl", "".join(line(key, texts, at, row) + "\n" for row, (key, texts) in enumerate(rows)))
        names.append(f"{at}.jsonl")
    words = ["--field=k", "--sum=in.m", "--sum=n", *["--unique=last"] * last, *resources(chance, command)]
    given = run(command, *words, *names).decode().splitlines()
    exact = [json.loads(one, parse_float=str, parse_int=str) for one in given]
    expected = []
    for key, sums, at, row in summed(values, last=last):
        found = {"at": f"{at} {row}", "k": key, "in": {"m": sums[1] or None}}
        if sums[0] or runs[at][row][1][0] == "null":
            found["n"] = sums[0] or None
        expected.append(found)
    assert exact == expected


def check_counted(chance: random.Random) -> None:
    command = chance.choice(["merge", "sort"])
    few = chance.choice([1, 3, 30, 1000])
    texts = [chance.choice(["", "a b", " x", "ä", "z\ty", "0"]) + str(chance.randrange(few)) for _ in range(few)]
    whole: Counter[str] = Counter()
    names = []
    for at in range(chance.randint(1, 4)):
        part = Counter(chance.choices(texts, k=chance.choice([0, 1, 200])))
        width = chance.choice([7, 4, 1])
        lines = [f"{count:{width}} {text}\n" for text, count in part.items()]
        if command == "merge":
            lines = [f"{part[text]:{width}} {text}\n" for text in sorted(part, key=str.encode)]
        write(f"{at}.txt", "".join(lines))
        names.append(f"{at}.txt")
        whole += part
    expected = "".join(f"{whole[text]:7} {text}\n" for text in sorted(whole, key=str.encode))
    assert run(command, "--counted", *resources(chance, command), *names).decode() == expected


CHECKS = [check_lines, check_csv, check_json, check_counted]


@pytest.mark.one_of_each
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("small", [False, True], ids=["", "small chunks"])
def test_random_cases(check: object, small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_chunks")
    repeat(check, _CASES // 4)


@pytest.mark.thorough
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("small", [False, True], ids=["", "small chunks"])
def test_many_random_cases(check: object, small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_chunks")
    repeat(check, 1250)


def repeat(check: object, cases: int) -> None:
    seed = given_or_random_seed()
    for case in range(cases):
        print(f"seed {seed}, case {case}")
        check(random.Random(f"{seed} {case}"))  # type: ignore[operator]
