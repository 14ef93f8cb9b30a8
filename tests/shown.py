"""Runs the commands that documents show, and compares their output with the output that is shown.

    python -m tests.shown README.md data/manual/tutorial.md

runs the commands of these documents, and replaces shown output that is out of date.

A fenced block with the word `console`, or with no word, shows commands: all lines if none begins with "$ ", else those
that do, each with its output below it. In a line without "$ ", three blanks begin a
comment on the command.

Measured values differ from run to run. So these parts of shown output match any others of their kind:

- numbers with a unit of time or throughput, percentages, and numbers with a point
- in a report: its numbers of workers, and its lines on the kernel's time, chunks, peak memory and bounds
- blanks and rules, in any number
- the device after "cpu:"
- "..." alone on a line, which matches any lines
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
COLUMNS = "100"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A command, its shown output (None if none is shown), and the place of this output in the document."""

    command: str
    output: str | None
    span: tuple[int, int]


def shown_in(text: str) -> Iterator[Shown]:
    for block in _BLOCK.finditer(text):
        if block[1] not in ("", "console"):
            continue
        at = block.start(2)
        lines = block[2].splitlines(keepends=True)
        prompted = any(line.startswith("$ ") for line in lines)
        number = 0
        while number < len(lines):
            command = lines[number]
            at += len(command)
            number += 1
            while command.endswith("\\\n") and number < len(lines):
                command = command[:-2] + lines[number]
                at += len(lines[number])
                number += 1
            begin = at
            while prompted and number < len(lines) and not lines[number].startswith("$ "):
                at += len(lines[number])
                number += 1
            if prompted:
                yield Shown(command.removeprefix("$ ").strip(), text[begin:at], (begin, at))
            elif command.strip():
                yield Shown(re.split(r"\s+# ", command.strip())[0], None, (begin, begin))


def rows_of(text: str) -> list[list[str]]:
    """The cells of all tables of a document."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def matches(shown: str, said: str) -> bool:
    """Whether the shown output equals the real output, apart from measured values."""
    pattern = ["(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in _plain(shown)]
    return re.fullmatch("".join(pattern), "".join(f"{line}\n" for line in _plain(said))) is not None


def _plain(text: str) -> list[str]:
    text = re.sub(r"\d[\d.,]* (?:s|ms|µs|us|ns|[kMGT]?B/s)\b|\d[\d.,]*%|\d[\d,]*\.\d+", "#", text)
    text = re.sub("[─━]+", "─", text)
    text = re.sub(r"\b(all|x) \d+ workers", "\\1 # workers", text)
    text = re.sub(r"\b(cpu:|backend cpu:) [^;\n]*", "\\1 #", text)
    text = re.sub(r"^( kernel time| chunks| peak memory| bounded by) .*$", "\\1", text, flags=re.MULTILINE)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    # In a table, a measured number may be whole by chance.
    lines = [re.sub(r"(?<!\S)\d+(?!\S)", "#", line) if line.count("#") > 1 else line for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


class Runner:
    """Runs commands one after the other in the current folder; `code` is the exit code of the last."""

    def __init__(self, captured: Callable[[], str]) -> None:
        self.code = 0
        self._captured = captured

    def __call__(self, command: str) -> str:
        """The standard output of the command, then its standard error."""
        if command == "echo $?":
            code, self.code = self.code, 0
            return f"{code}\n"
        words = shlex.split(command)
        variables = {}
        while words and re.fullmatch(r"[A-Z_0-9]+=.*", words[0]):
            name, _, variables[name] = words.pop(0).partition("=")
        if words[0] != "gpumerge":
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
            self.code = done.returncode
            return done.stdout + done.stderr
        from gpumerge_cli.cli.app import invoke

        before = dict(os.environ)
        os.environ.update(variables)
        try:
            self.code = invoke(words[1:])
        finally:
            for name in variables:
                del os.environ[name]
            os.environ.update(before)
        return self._captured()


def main() -> None:
    os.environ |= {"COLUMNS": COLUMNS, "PYTHONPATH": str(ROOT)}
    for name in sys.argv[1:]:
        document = Path(name).resolve()
        text = document.read_text()
        changes: list[tuple[tuple[int, int], str]] = []
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.symlink(ROOT / "data", "data")
            runner = Runner(str)
            for one in list(shown_in(text)):
                said = _run_apart(one.command, runner)
                if one.output is not None and not matches(one.output, said):
                    changes.append((one.span, said))
        for (begin, end), said in reversed(changes):
            text = text[:begin] + said + text[end:]
        document.write_text(text)


def _run_apart(command: str, runner: Runner) -> str:
    """Runs the command in a process of its own, so that output of compiled code and other threads is caught too."""
    if not re.match(r"(?:[A-Z_0-9]+=\S+ )*gpumerge ", command):
        return runner(command)
    # A comparison takes some libraries only if they are installed. Documents never show these.
    program = "import sys; sys.modules['polars'] = None; from gpumerge_cli.__main__ import main; main()"
    command = re.sub(r"\bgpumerge ", f'{sys.executable} -c "{program}" ', command, count=1)
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    runner.code = done.returncode
    return "".join(f"{line.rstrip()}\n" for line in (done.stdout + done.stderr).splitlines())


if __name__ == "__main__":
    main()
