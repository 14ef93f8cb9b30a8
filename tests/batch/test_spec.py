"""Jobs judged as a whole: what they become, and every mistake with its line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.batch.document import Mistake
from gpumerge_cli.batch.draft import JOB_KEYS
from gpumerge_cli.batch.expand import Folder
from gpumerge_cli.batch.read import read_jobs
from gpumerge_cli.batch.spec import BatchJob, Limits
from gpumerge_cli.cli.batch_jobs import commands
from gpumerge_cli.engine.job import Destination
from gpumerge_cli.shell_words import quoted

Read = Callable[..., tuple[list[BatchJob], list[Mistake]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """read(text) judges a job file in the test's folder, which has a few files."""
    for name in ("a.txt", "b.txt", "c.i32", "d.npy", "odd.dat", "sub/e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    commands.cache_clear()  # an earlier test's had its settings
    (tmp_path / "dashes").write_bytes(b"a.txt\0-")
    (tmp_path / "globs").write_bytes(b"*.txt")
    (tmp_path / "list").write_bytes(b"a.txt\0sub/e.txt\0")

    def judge(
        text: str, taken: dict[str, str] | None = None, environ: dict[str, str] | None = None
    ) -> tuple[list[BatchJob], list[Mistake]]:
        folder = Folder(str(tmp_path), taken)
        return read_jobs(text.encode(), folder, commands(), Limits(1, 1 << 30, 64), environ or {})

    return judge


def sound(found: tuple[list[BatchJob], list[Mistake]]) -> list[BatchJob]:
    jobs, mistakes = found
    assert mistakes == []
    assert all(job.job is not None for job in jobs)
    return jobs


def test_a_job_becomes_a_command_line(read: Read, tmp_path: Path) -> None:
    text = """
[defaults]
operation = "merge"
numeric_sort = true
threads = 3
check = false

[[job]]
name = "one two"
inputs = ["a.txt", "*.txt", "${SUB}/*"]
output = "{dir}/{stem}-{job}{suffix}"
report = "{job}.json"
key = ["2,2", "1n"]
numeric-sort = false
"""
    (job,) = sound(read(text, environ={"SUB": "sub"}))
    assert (job.number, job.name, job.line, job.operation) == (1, "one two", 8, "merge")
    base = f"{tmp_path}/"
    assert job.inputs == tuple(base + name for name in ("a.txt", "b.txt", "sub/e.txt"))
    assert job.outputs == (base + "./a-one two.txt",)
    assert shlex.split(job.command) == [
        "gpumerge", "merge", "--no-numeric-sort", "--threads=3", "--no-check", f"--report={base}one two.json",
        "--key=2,2", "--key=1n",
        f"--output={base}a-one two.txt", "--", *job.inputs,
    ]  # fmt: skip
    asked = job.job
    assert asked is not None
    assert asked.inputs == job.inputs
    assert (asked.output.name,) == job.outputs
    assert (asked.resources.threads, asked.operation.check) == (3, False)
    assert asked.items.lines is not None
    assert len(asked.items.lines.keys) == 2


def test_defaults_hold_where_an_operation_has_them(read: Read) -> None:
    text = """
defaults = {threads = 2, parallel = 3, output = "{job}.out", inputs = "a.txt", operation = "merge"}
[[job]]
[[job]]
operation = "sort"
[[job]]
operation = "check"
name = "last"
"""
    jobs = sound(read(text))
    assert [job.name for job in jobs] == ["1", "2", "last"]
    assert [job.job.resources.threads for job in jobs] == [2, 3, 2]  # type: ignore[union-attr]
    assert [len(job.outputs) for job in jobs] == [1, 1, 0]


def test_json_lines_say_the_same(read: Read) -> None:
    toml = '[[job]]\nname = "x"\noperation = "sort"\ninputs = ["a.txt"]\noutput = "o"\nunique = true\nkey = "1,1"\n'
    lines = '{"name": "x", "operation": "sort", "inputs": ["a.txt"], "output": "o", "unique": true, "key": "1,1"}\n'
    (a,), (b,) = sound(read(toml)), sound(read(lines))
    assert (a.command, a.job) == (b.command, b.job)


def test_names_in_a_list_file_are_relative_to_the_job_file(read: Read, tmp_path: Path) -> None:
    (job,) = sound(read('[[job]]\noperation = "check"\nfiles0-from = "list"\n'))
    assert job.inputs == (f"{tmp_path}/a.txt", f"{tmp_path}/sub/e.txt")


def test_jobs_come_after_those_whose_outputs_they_read(read: Read) -> None:
    text = """
[defaults]
operation = "merge"
[[job]]
inputs = ["x/../made-*.txt", "a.txt"]
output = "all.txt"
[[job]]
inputs = "a.txt"
output = "made-1.txt"
[[job]]
inputs = ["./made-1.txt"]
output = "made-2.txt"
[[job]]
operation = "sort"
inputs = "b.txt"
output = "b.txt"
[[job]]
operation = "check"
inputs = "b.txt"
"""
    jobs = sound(read(text))
    assert [sorted(job.after) for job in jobs] == [[2, 3], [], [2], [], [4]]
    assert [os.path.basename(name) for name in jobs[0].inputs] == ["made-1.txt", "made-2.txt", "a.txt"]


def test_a_glob_gives_the_same_before_and_after_the_run(read: Read, tmp_path: Path) -> None:
    text = '[[job]]\noperation="merge"\ninputs = ["*.txt"]\noutput = "all.txt"\n'
    (before,) = sound(read(text))
    (tmp_path / "all.txt").touch()
    (after,) = sound(read(text))
    assert before.command == after.command


def test_what_needs_a_look_into_a_file_to_come_is_judged_later(read: Read) -> None:
    text = """
[defaults]
operation = "sort"
csv = true
header = 1
[[job]]
inputs = "a.txt"
output = "made.csv"
key = "1,1"
[[job]]
inputs = "made.csv"
output = "out.csv"
key = "amount:n"
"""
    jobs, mistakes = read(text)
    assert mistakes == []
    assert [job.job is None for job in jobs] == [False, True]


GOOD = 'operation = "merge"\ninputs = "a.txt"\noutput = "o.txt"\n'
PARTS = GOOD.replace("o.txt", "o{part}.txt")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[[job]]\ninputs = "a.txt"\noutput = "o"', [(1, "the job has no operation; use merge, union")]),
        ('[[job]]\noperation = "marge"\ninputs = "a.txt"', [(2, "there is no operation 'marge'; did you mean merge?")]),
        ('[[job]]\noperation = ["merge"]\ninputs = "a.txt"', [(2, "there is no operation ['merge']")]),
        ('[[job]]\noperation = 3\ninputs = "a.txt"\noutput = "o"', [(2, "there is no operation 3")]),
        ('[[job]]\noperation = "merge"\noutput = "o"', [(1, "no inputs")]),
        ('[[job]]\noperation = "sort"\ninputs = "a.txt"', [(1, "no output")]),
        ('[[job]]\noperation = "check"\ninputs = "a.txt"\noutput = "o"', [(4, "check writes no output")]),
        (f'[[job]]\n{GOOD}item-per-thread = 3',
         [(5, "there is no key item-per-thread; did you mean items-per-thread?")]),
        ('[[job]]\noperation = "merge"\ninputs = ["a.txt"]\noutput = "o{part}"',
         [(4, "{part} is not a field here; add parts = N")]),
        (f'[[job]]\n{GOOD}zzz = 3', [(5, "there is no key zzz; see gpumerge batch --help")]),
        (f'[[job]]\n{GOOD}input = "b.txt"', [(5, "there is no key input; did you mean inputs?")]),
        (f'[[job]]\n{GOOD}files = ["b.txt"]', [(5, "there is no key files; did you mean inputs?")]),
        *[(f'[[job]]\n{GOOD}{key} = "b.txt"', [(5, f"there is no key {key}; did you mean inputs?")])
          for key in ("Files", "path", "paths", "infile", "InFiles", "INPUTS")],
        (f'[[job]]\n{GOOD}in = "b.txt"', [(5, "there is no key in; did you mean inputs?")]),
        (f'[[job]]\n{GOOD}out = "b.txt"', [(5, "there is no key out; did you mean output?")]),
        (f'[[job]]\n{GOOD}-o = "b.txt"', [(5, "there is no key -o; did you mean output?")]),
        (f'[[job]]\n{GOOD}op = "sort"', [(5, "there is no key op; did you mean operation?")]),
        (f'[defaults]\ncommand = "sort"\n[[job]]\n{GOOD}', [(2, "there is no key command; did you mean operation?")]),
        (f'[[job]]\n{GOOD}fan_in = 2\nfan-in = 4', [(6, "fan-in is given twice")]),
        (f'[[job]]\n{GOOD}threads = 0', [(5, "--threads")]),
        (f'[[job]]\n{GOOD}threads = "many"', [(5, "--threads")]),
        (f'[[job]]\n{GOOD}threads = true', [(5, "threads takes a value, not true")]),
        (f'[[job]]\n{GOOD}threads = [1]', [(5, "threads takes a value, not a list")]),
        (f'[[job]]\n{GOOD}unique = 1', [(5, "unique is true, false, 'first', 'last', not 1; write unique = true")]),
        (f'[[job]]\n{GOOD}unique = "yes"', [(5, "unique is true, false, 'first', 'last', not 'yes'")]),
        (f'[[job]]\n{GOOD}dtype = 2020-01-01', [(5, "dtype takes a value")]),
        (f'[[job]]\n{GOOD}kernel = "fast"', [(5, "--kernel")]),
        (f'[[job]]\n{GOOD.replace("o.txt", "o.npy")}', [(4, "lines of text cannot be written as .npy")]),
        ('[[job]]\noperation="merge"\noutput = "o"\ninputs = ["a.txt",\n"odd.dat"]', [(4, "odd.dat: the suffix")]),
        (f'[[job]]\n{GOOD}tile-size = 3', [(5, "tile")]),
        (f'[[job]]\n{GOOD.replace("merge", "sort")}algorithm = "quick"', [(5, "quick")]),
        (f'[[job]]\n{GOOD}memory = "lots"', [(5, "lots")]),
        (f'[[job]]\n{GOOD}memory = "9G"', [(5, "more memory than all jobs have")]),
        (f'[[job]]\n{GOOD}threads = 65', [(5, "more threads than all jobs have; raise --threads, or ask for less")]),
        (f'[[job]]\n{GOOD.replace("merge", "sort")}parallel = 65', [(5, "more threads than all jobs have")]),
        (f'[[job]]\n{GOOD}report = "r.pdf"', [(5, "r.pdf")]),
        (f'[[job]]\n{GOOD}compare = true', [(5, "compare is not an option of jobs; leave it out")]),
        (f'[[job]]\n{GOOD.replace("merge", "diff")}sort-inputs = true', [(5, "sort-inputs is not an option of jobs")]),
        (f'[[job]]\n{GOOD}plan = true', [(5, "plan is not an option of jobs; leave it out")]),
        (f'[[job]]\n{GOOD}quiet = true', [(5, "quiet is not an option of jobs; leave it out")]),
        (f'[[job]]\n{GOOD}month-sort = true\nnumeric-sort = true', [(6, "options -Mn are incompatible")]),
        (f'[[job]]\n{GOOD}key = "x"', [(5, "--field takes names")]),
        (f'[[job]]\n{GOOD}key = ["0"]\nfield-separator = "abcdefgh"', [(6, "longer than 7 bytes")]),
        (f'[[job]]\n{GOOD}threads = 0\nblock-size = 0', [(5, "--threads")]),
        ('[[job]]\noperation="merge"\ninputs = ["a.txt",\n"no.txt"]\noutput = "o"', [(3, "no.txt: no such file")]),
        ('[[job]]\noperation="merge"\ninputs = ["*.text", "sub"]\noutput = "o"',
         [(3, "*.text matches no file"), (3, "sub: is a directory")]),
        ('[[job]]\noperation="merge"\ninputs = []\noutput = "o"', [(3, "inputs is not a list of names")]),
        ('[[job]]\noperation="merge"\ninputs = ["a.txt", 3]\noutput = "o"', [(3, "inputs is not a list of names")]),
        ('[[job]]\noperation="merge"\ninputs = "-"\noutput = "o"', [(3, "a job reads files")]),
        ('[[job]]\noperation="merge"\ninputs = "/dev/stdin"\noutput = "o"', [(3, "a job reads files")]),
        ('[[job]]\noperation="merge"\nfiles0-from="dashes"\noutput="o"', [(3, "'-' is named, but a job reads files")]),
        ('{"operation": "merge", "inputs": ["a.txt", "\\ud800"], "output": "o"}', [(1, "cannot be text on a command")]),
        ('{"operation": "merge", "inputs": "a.txt", "output": "\\u0000"}', [(1, "cannot be text on a command")]),
        ('{"operation": "merge", "inputs": "\\ud800*", "output": "\\udfff"}', [(1, "ud800"), (1, "udfff")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "-"', [(4, "a job writes a file")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "/dev/stdout"', [(4, "a job writes a file")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = ""', [(4, "is not the name of a file")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = 4', [(4, "output 4 is not a name")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "sub"', [(4, "sub: is a directory")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "no/o"', [(4, "no such folder")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "job.toml"', [(4, "job.toml is the job file")]),
        ('[[job]]\noperation="merge"\ninputs = "c.i32"\noutput = "o.i32"\nnumeric-sort = true', [(5, "is binary")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "${NO}/o"', [(4, "${NO}: the environment has no")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "{job"', [(4, "lone brace")]),
        ('[[job]]\noperation="merge"\ninputs = "a.txt"\noutput = "{nome}"', [(4, "{nome} is not a field")]),
        (f'[[job]]\n{GOOD}parts = 2', [(4, "o.txt is one file; name the parts")]),
        (f'[[job]]\n{PARTS}', [(4, "{part} is not a field here")]),
        (f'[[job]]\n{PARTS}parts = 0', [(5, "invalid number '0'; write 1 or more")]),
        (f'[[job]]\n{PARTS}parts = "x"', [(5, "invalid number 'x'")]),
        (f'[[job]]\n{PARTS}parts = true', [(4, "{part} is not a field here"), (5, "parts takes a value")]),
        (f'[[job]]\n{PARTS}parts = 2\n[[job]]\n{GOOD.replace("o.txt", "o1.txt")}',
         [(9, "o1.txt is written by job 1 of line 4 already")]),
        (f'[[job]]\n{PARTS.replace("a.txt", "b.txt")}parts = 2\n[[job]]\n{PARTS}parts = 3',
         [(9, "o0.txt is written by job 1 of line 4"), (9, "o1.txt is written by job 1 of line 4")]),
        (f'[[job]]\n{PARTS.replace("o{part}", "{part}")}parts = 2\nreport = "1.txt"', [(6, "would replace")]),
        ('[[job]]\noperation="merge"\ninputs = "{stem}"\noutput = "o"', [(3, "{stem} is not a field here; use {job}")]),
        ('[[job]]\noperation="merge"\ninputs = "*.txt"\noutput = "{stem}"', [(4, "{stem} is not a field here")]),
        (f'[[job]]\nname = "x"\n{GOOD}\n[[job]]\nname = "x"\n{GOOD.replace("o.txt", "p.txt")}',
         [(8, "the job of line 1 is called x too")]),
        (f'[[job]]\nname = ""\n{GOOD}', [(2, "'' is not a name")]),
        (f'[[job]]\nname = "a\\tb"\n{GOOD}', [(2, "is not a name")]),
        (f'[defaults]\nname = "x"\n[[job]]\n{GOOD}', [(2, "name every job by itself")]),
        (f'[defaults]\nthreds = 3\n[[job]]\n{GOOD}', [(2, "there is no key threds; did you mean threads?")]),
        (f'[defaults]\nthreads = 0\n[[job]]\n{GOOD}\n[[job]]\n{GOOD.replace("o.txt", "p.txt")}', [(2, "--threads")]),
        (f'[[job]]\n{GOOD}[[job]]\n{GOOD.replace("o.txt", "./sub/../o.txt")}',
         [(8, "o.txt is written by job 1 of line 4 already")]),
        (f'[[job]]\n{GOOD}report = "o.txt"', [(5, "would replace")]),
        ('[[job]]\noperation="merge"\ninputs = ["a.txt", "b.txt"]\noutput = "a.txt"', [(1, "would merge it twice")]),
        ('[[job]]\noperation="merge"\ninputs="y"\noutput="x"\n[[job]]\noperation="merge"\ninputs="x"\noutput="y"',
         [(1, "jobs wait for each other")]),
        ('{"operation": "merge", "inputs": "a.txt"}\n{"operation": "merge", "inputs": "a.txt", "output": "o", "x": 1}',
         [(1, "no output"), (2, "there is no key x")]),
        # One mistake makes no other.
        ('[[job]]\noperation="merge"\ninputs="a.txt"\noutput="no/o"\n[[job]]\noperation="merge"\ninputs="no/o"\noutput="p"',
         [(4, "no such folder")]),
        # Those in values are all told; a command line is read where there are none.
        (f'[[job]]\n{GOOD}unique = 1\nthreads = 0\nkernel = "${{NO}}"\nmemory = "lots"',
         [(5, "unique is true, false"), (7, "${NO}: the env")]),
        ('[[job]]\noperation="merge"\noutput = "${NO}"\ninputs = ["a.txt",\n"${NO}",\n"no.txt"]\nthreads = 0',
         [(3, "${NO}"), (4, "${NO}")]),
        ('[[job]]\noperation="merge"\ninputs = ["odd.dat"]\noutput = "o"\ndtype = false', [(5, "dtype takes")]),
        ('[[job]]\noperation="merge"\ninputs = "${NO}"\noutput = "{stem}"', [(3, "${NO}")]),
        (f'[defaults]\nkey = ["1",\n"${{NO}}",\n"0"]\n[[job]]\n{GOOD}', [(2, "${NO}")]),
        ('[[job]]\noperation="merge"\nfiles0-from="nolist"\noutput="o"', [(3, "nolist: no such file")]),
        ('[[job]]\noperation="merge"\nfiles0-from="list"\noutput="./list"', [(4, "list is read before any job runs")]),
        ('[[job]]\noperation="merge"\nfiles0-from="log"\noutput="o"', [(3, "log would be replaced: it is the log")]),
        ('[[job]]\noperation="sort"\nfiles0-from="list"\noutput="o"\nreport="sub/../list"',
         [(5, "list is read before any job runs")]),
        (f'[[job]]\n{GOOD.replace("o.txt", "b.txt")}random-sort=true\nrandom-source="b.txt"',
         [(4, "b.txt is read before any job runs")]),
        ('[[job]]\noperation="merge"\nfiles0-from="list"\ninputs="a.txt"\noutput="o"',
         [(3, "named by inputs already")]),
        ('[[job]]\noperation="merge"\nfiles0-from="globs"\noutput="o"', [(3, "*.txt: no such file")]),
        (f'[defaults]\noutput = "o.txt"\n[[job]]\n{GOOD}[[job]]\n{GOOD.replace("o.txt", "${NO}")}', [(10, "${NO}")]),
    ],
)  # fmt: skip
def test_every_mistake_has_its_line(text: str, expected: list[tuple[int, str]], read: Read, tmp_path: Path) -> None:
    taken = {os.path.realpath(tmp_path / "job.toml"): "the job file", os.path.realpath(tmp_path / "log"): "the log"}
    (tmp_path / "log").write_bytes(b"a.txt\0")
    _, mistakes = read(text, taken)
    told = [(each.line, f"{each.what}; {each.way_out}") for each in mistakes]
    assert [line for line, _ in told] == [line for line, _ in expected], told
    for (_, words), (_, line) in zip(expected, told, strict=True):
        assert words in line


VALUES: list[object] = [
    True, False, 0, -1, 3, 10**30, 1.5, float("inf"), "", "-", "--", "a.txt", "*.txt", "**", "[", "sub", "/", "no/such",
    "{job}", "{", "{stem}", "${NO}", "${PATH}", "\x00", "\n", "\ud800", "1,1n", "x" * 300, [], ["a.txt", "b.txt"], [1],
    [[]], {}, {"a": 1}, None, "merge", "sort", "check", "cpu", "int32", "[(", "1K", "-1", "/dev/null", "out", "d.npy",
]  # fmt: skip


def test_anything_is_a_job_or_a_mistake_with_its_line(read: Read, rng: np.random.Generator) -> None:
    options = {key for command in commands().values() for key in command.options}
    keys = [*JOB_KEYS, *JOB_KEYS, *JOB_KEYS, *sorted(options), "x"]
    for _ in range(300):
        lines = []
        for number in range(rng.integers(1, 4)):
            job: dict[str, object] = {"operation": "merge", "inputs": ["a.txt"], "output": f"o{number}"}
            for key in rng.choice(keys, rng.integers(0, 4)):
                job[str(key)] = VALUES[rng.integers(len(VALUES))]
            lines.append(json.dumps(job if rng.random() < 0.9 else {"defaults": job}))
        text = "\n".join(lines)
        jobs, mistakes = read(text)
        assert all(1 <= mistake.line <= len(lines) for mistake in mistakes), text
        assert mistakes or all(job.job is not None or job.after for job in jobs), text
        assert all("\n" not in job.command for job in jobs), text


@pytest.mark.parametrize("operation", ["merge", "sort"])
def test_a_job_takes_a_setting_back(operation: str, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMERGE_FSYNC", "1")
    text = f"[[job]]\n{GOOD.replace('merge', operation)}"
    for told, durable in (("", True), ("fsync = true", True), ("fsync = false", False)):
        (job,) = sound(read(text + told))
        assert job.job is not None
        assert job.job.output.durable is durable
        assert ("--fsync" in job.command) is durable


def test_a_circle_of_jobs_is_told_with_their_names(read: Read) -> None:
    pairs = [("a1", "a2"), ("a.txt", "c"), ("a2", "a3"), ("a3", "a1")]
    text = "".join(f'[[job]]\nname="to {b}"\noperation="merge"\ninputs="{a}"\noutput="{b}"\n' for a, b in pairs)
    _, (mistake,) = read(text)
    assert mistake.line == 1
    assert mistake.what.startswith("jobs wait for each other: to a")
    assert {f"to a{n}" for n in (1, 2, 3)} == set(mistake.what.partition(": ")[2].split(" -> "))


@pytest.mark.parametrize(
    "word", ["a", "a b", "it's", "", "tab\there", "line\nbreak", "back\\slash\n'", "é", "\udcff", "$HOME"]
)
def test_quoted_words_are_words_again_for_a_shell(word: str) -> None:
    shown = quoted(word)
    assert "\n" not in shown
    assert "\t" not in shown
    command = b"printf '%s\\0' " + os.fsencode(shown)
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert done.stdout == os.fsencode(word) + b"\0"


def test_parts_are_files_that_other_jobs_read(read: Read, tmp_path: Path) -> None:
    text = """
[defaults]
operation = "merge"
[[job]]
name = "week"
inputs = ["a.txt"]
parts = 12
output = "{job}.{part}.txt"
[[job]]
inputs = ["week.03.txt", "b.txt"]
output = "one"
[[job]]
operation = "sort"
inputs = ["week.*.txt"]
output = "sub/{part}-{job}"
parts = 2
"""
    (tmp_path / "week.00.txt").touch()  # of an earlier run
    week, one, all_ = sound(read(text))
    assert week.outputs == tuple(f"{tmp_path}/week.{number:02}.txt" for number in range(12))
    assert week.job is not None
    assert week.job.output == Destination(f"{tmp_path}/week.{{part}}.txt", 12)
    assert shlex.split(week.command)[-4:-2] == ["--parts=12", f"--output={tmp_path}/week.{{part}}.txt"]
    assert (one.after, all_.after) == ({1}, {1})
    assert all_.inputs == week.outputs
    assert all_.outputs == (f"{tmp_path}/sub/0-3", f"{tmp_path}/sub/1-3")
