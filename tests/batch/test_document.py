"""Job files as they are written: tables, and the line of everything in them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gpumerge_cli.batch.document import read_document

TOML = '''# a comment with [[job]] in it
[defaults]
operation = "merge"   # [[job]]
"numeric-sort" = true

[[job]]
name = """
of two = lines
[[job]]"""
inputs = [
  "a[1].txt", # the first
  'b=c.txt',
]
output = "x"
[[ job ]]
inputs = ["a"]

  output = "]"
threads
 = 2
'''


def toml_refused() -> str:
    return TOML.replace("threads\n = 2\n", "")


def test_lines_of_tables_and_keys() -> None:
    found = read_document(toml_refused().encode())
    assert found.mistakes == []
    assert found.defaults.line == 2
    assert {key: entry.line for key, entry in found.defaults.entries.items()} == {"operation": 3, "numeric-sort": 4}
    first, second = found.jobs
    assert (first.line, second.line) == (6, 15)
    assert {key: entry.line for key, entry in first.entries.items()} == {"name": 7, "inputs": 10, "output": 14}
    assert first.entries["name"].value == "of two = lines\n[[job]]"
    assert {key: entry.line for key, entry in second.entries.items()} == {"inputs": 16, "output": 18}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('job = [\n {name = "a"},\n\n {name = "b", inputs = ["x"]},\n]', [1, 1]),
        ("[[job]]\r\nname = 'a'\r\n[[job]]\r\n", [1, 3]),
        ('[[job]]\nname = "a"\n[job.deep]\nx = 1\n[[job]]', [1, 5]),
        ('[["job"]]\na.b = 1\n[[job]]\nname="""a""""\n[[job]]', [1, 3, 5]),
        ("\ufeff[[job]]\n", [1]),
    ],
)
def test_jobs_begin_where_they_are_written(text: str, lines: list[int]) -> None:
    found = read_document(text.encode())
    assert found.mistakes == []
    assert [job.line for job in found.jobs] == lines


def test_tables_inside_a_job_have_a_place() -> None:
    (job,) = read_document(b'[[job]]\nname = "a"\n[job.deep]\nx = 1\n').jobs
    assert job.entries["deep"].line == 3


def test_lines_of_json() -> None:
    text = '{"defaults": {"operation": "sort"}}\n\n{"name": "a", "inputs": ["x"]}\n{"name": "b"}\n'
    found = read_document(text.encode())
    assert found.mistakes == []
    assert found.defaults.entries["operation"].value == "sort"
    assert [(job.line, job.entries["name"].value, job.entries["name"].line) for job in found.jobs] == [
        (3, "a", 3),
        (4, "b", 4),
    ]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", 1, "no job"),
        (b"# nothing\n", 1, "no job"),
        (b"[[job]]\nname = \n", 2, "is not TOML"),
        (b"[[job]]\nname = 'a", 2, "is not TOML"),
        (b"[[job]]\nthreads = " + b"1" * 5000, 2, "thousands of digits"),
        (b'{"threads": ' + b"1" * 5000 + b"}", 1, "thousands of digits"),
        (b"[[job]]\nname = 'a'\nname = 'b'\n", 3, "is not TOML"),
        (b"[[job]]\nname = '\xff'\n", 2, "is not UTF-8"),
        (b"[[jobs]]\n", 1, "jobs is not a table of a job file; write [defaults] or [[job]]"),
        (b"\n[job]\n", 2, "job is not a table of a job file; write [defaults] or [[job]]"),
        (b"\n\nname = 'a'\n[[job]]\n", 3, "name is not a table of a job file"),
        (b"defaults = 3\n[[job]]\n", 1, "defaults is not a table of a job file"),
        (b'{"name": "a"}\n{"name": }\n', 2, "is not JSON"),
        (b'{"name": "a"}\n[1]\n', 2, "is not a JSON object"),
        (b'{"name": "a", "name": "b"}\n', 1, "'name' is given twice"),
        (b'{"defaults": {"threads": 1}}\n{"defaults": {}}\n{"name": "a"}\n', 2, "twice"),
        (b"[[job]]\nx = " + b"[" * 5000 + b"]" * 5000, 1, "too deep"),
        (json.dumps({"a": 1}).encode() + b"\n" + b"[" * 100_000, 2, "too deep"),
        (b'{"inputs": ' + b"[" * 900 + b"]" * 900 + b"}\n", 1, "too deep"),
        (b'{"threads": ' + b'{"a": ' * 2000 + b"1" + b"}" * 2000 + b"}\n", 1, "too deep"),
        (b"[[job]]\nx = " + b"[" * 300 + b"]" * 300, 1, "too deep"),
    ],
)
def test_what_cannot_be_read_has_its_line(data: bytes, line: int, words: str) -> None:
    first = read_document(data).mistakes[0]
    assert first.line == line
    assert words in f"{first.what}; {first.way_out}"


def test_every_line_of_json_is_judged() -> None:
    assert [mistake.line for mistake in read_document(b'{"a": }\n{"a": 1}\n3\n{').mistakes] == [1, 3, 4]


VALUES = (
    "3",
    "true",
    '"a # b = [c] \\" {d}"',
    "'[[job]] \\'",
    '"""x\n[[job]]\nname = 3 ""x"""',
    "'''\n[defaults]\n'''",
    '[\n  "a]", # "b"\n  [1, 2],\n]',
    "{ x = [1, 2], y = '}' }",
    "1979-05-27T07:32:00Z",
    "[[1], [2]]",
    '""',
    "[]",
)


@pytest.mark.parametrize("round_", range(40))
def test_places_in_random_files(round_: int, rng: np.random.Generator) -> None:
    """Keys and tables have the right lines, whatever lies between them."""
    lines: list[str] = []
    expected: list[tuple[int, dict[str, int]]] = []

    def put(text: str) -> int:
        begun = len(lines) + 1
        lines.extend(text.split("\n"))
        return begun

    for _ in range(rng.integers(1, 6)):
        for _ in range(rng.integers(0, 3)):
            put(str(rng.choice(["", "# [[job]]", "  # name = '''"])))
        begun = put(str(rng.choice(["[[job]]", "  [[ job ]] # one", '[["job"]]', "[['job']]"])))
        keys = {}
        for number in range(rng.integers(0, 6)):
            written = str(rng.choice([f"key{number}", f'"key{number}"', f"  key{number}  "]))
            keys[f"key{number}"] = put(f"{written} = {rng.choice(VALUES)}{rng.choice(['', ' # end', '   '])}")
        expected.append((begun, keys))
    text = "\n".join(lines)
    found = read_document(text.encode())
    assert found.mistakes == [], text
    told = [(job.line, {key: entry.line for key, entry in job.entries.items()}) for job in found.jobs]
    assert told == expected, text
