"""gpumerge sort's command line: GNU sort's, with GNU's checks in GNU's order, and gpumerge's own long options."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast, get_args

from gpumerge_cli.cli.gnu_options import FILE, OPERAND, scan
from gpumerge_cli.cli.gnu_values import (
    match_word,
    parse_batch_size,
    parse_count,
    parse_separator,
    parse_size,
    parse_threads,
)
from gpumerge_cli.cli.keyspec import (
    KeySpec,
    csv_names,
    header_lines,
    inheriting,
    line_order,
    parse_csv_key,
    parse_key,
    parse_obsolete_key,
    parse_sort_word,
)
from gpumerge_cli.errors import UsageError
from gpumerge_cli.lines import LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.backends.base import KernelName
    from gpumerge_cli.engine.request import BackendChoice, FormatChoice

Mode = Literal["sort", "merge", "check", "check-quiet", "help", "version"]

_CHECK_WORDS: dict[str, Literal["c", "C"]] = {"quiet": "C", "silent": "C", "diagnose-first": "c"}
_WRONG_WORD = 1
"""The exit code for a WORD that is none. GNU's manual has 2 for every error, but its sort has 1 for this one."""
_POSIX_WITHOUT_OBSOLETE_KEYS = range(200112, 200809)


@dataclass(frozen=True)
class SortCommand:
    """What a command line of gpumerge sort asks for.

    files: the operands; ("-",) if there are none and no `files0_from`. order: its salt is still to be given if
    keyspec.is_random says so. output: None for standard output. memory: bytes, of which 0 is the least that does; None
    if not said. threads: None if not said, else 1 or more, up to 2^62. batch_size: inputs that one merge reads, 2 or
    more, or None. format, dtype, record_size, key_offset, key_size, key_field: of items that are not lines, as merge
    has them. files0_from, random_source, report: names of files. header: lines. compressed: files of lines whose names
    end in .gz, .bz2, .xz or .zst are. notes: what --debug notes of the command line.
    """

    mode: Mode = "sort"
    files: tuple[str, ...] = ("-",)
    order: LineOrder = field(default_factory=LineOrder)
    unique: bool = False
    output: str | None = None
    memory: int | None = None
    threads: int | None = None
    batch_size: int | None = None
    temporary_folders: tuple[str, ...] = ()
    compress_program: str | None = None
    files0_from: str | None = None
    random_source: str | None = None
    debug: bool = False
    backend: BackendChoice = "auto"
    device: int = 0
    header: int = 0
    csv: bool = False
    report: str | None = None
    kernel: KernelName | Literal["auto"] = "auto"
    algorithm: str | None = None
    progress: bool = False
    format: FormatChoice | None = None
    dtype: str | None = None
    record_size: int | None = None
    key_offset: int | None = None
    key_size: int | None = None
    key_field: str | None = None
    fan_in: int | None = None
    compare: bool = False
    compressed: bool = False
    repeat: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def zero_terminated(self) -> bool:
        return self.order.terminator == 0


def parse_sort(
    arguments: Sequence[str],
    environ: Mapping[str, str] = os.environ,
    defaults: Callable[[Set[str]], Iterable[tuple[str, str]]] = lambda given: (),
) -> SortCommand:
    """The command that `arguments`, what follows "gpumerge sort", ask for.

    Of `environ`, _POSIX2_VERSION and POSIXLY_CORRECT count, as for GNU sort. --help and --version end the reading: then
    only the mode is set. defaults: asked once the command line is read, gives what is set of options other than those
    given, by `scan`'s names of them. Raises UsageError for the first thing that GNU sort would find wrong, ahead of
    opening files.
    """
    reading = _Reading(
        deque(arguments), _takes_obsolete_keys(environ), "POSIXLY_CORRECT" in environ, "--csv" in arguments
    )
    given = set()
    for option, value in scan(reading.left):
        if option in ("help", "version"):
            return SortCommand(mode=cast(Mode, option))
        reading.take(option, value)
        given.add(option)
    for option, value in defaults(given):
        reading.take(option, value)
    command = reading.command()
    if command.mode in ("check", "check-quiet") and "report" in given:
        raise UsageError("--report: a check takes no report", way_out="leave --report, or -c and -C, out")
    return command


def check_operands(command: SortCommand, files: Sequence[str]) -> None:
    """Raises UsageError if `command` checks and `files`, with the names read from files0_from, are more than one."""
    if command.mode in ("check", "check-quiet") and len(files) > 1:
        raise UsageError(f"{files[1]}: only one file can be checked", way_out="check one after the other")


@dataclass
class _Reading:
    """A command line as far as it was read.

    left: what is still to be read. obsolete_keys: whether +POS1 needs no -POS2. posix: whether options end at the first
    file. csv: whether keys may be names.
    """

    left: deque[str]
    obsolete_keys: bool
    posix: bool
    csv: bool
    letters: set[str] = field(default_factory=set)
    keys: list[KeySpec] = field(default_factory=list)
    named: dict[int, str] = field(default_factory=dict)
    """Keys of CSV as written, by their places among `keys`."""
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    single: dict[str, str] = field(default_factory=dict)
    """Options that may be given again only with the same value."""
    last: dict[str, str] = field(default_factory=dict)
    """Options of which the last counts."""
    check: Literal["c", "C"] | None = None
    memory: int | None = None
    threads: int | None = None
    batch_size: int | None = None
    header: int = 0
    device: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def take(self, option: str, value: str) -> None:
        match option:
            case "b" | "d" | "f" | "g" | "h" | "i" | "M" | "n" | "R" | "r" | "V":
                self.letters.add(option)
            case "sort":
                self.letters.add(parse_sort_word(value, _WRONG_WORD))
            case "k":
                self._key(value)
            case "t":
                parse_separator(value)
                self._once(option, value)
            case "o" | "compress-program" | "random-source":
                self._once(option, value)
            case "c" | "C":
                self._check(option)
            case "check":
                self._check(match_word(value, _CHECK_WORDS, "--check", _WRONG_WORD))
            case "S":
                self.memory = max(self.memory or 0, parse_size(value))
            case "T":
                self.folders.append(value)
            case "batch-size":
                self.batch_size = parse_batch_size(value)
            case "parallel":
                self.threads = parse_threads(value)
            case "header":
                self.header = parse_count(value, "--header")
            case "device":
                self.device = parse_count(value, "--device")
            case "record-size" | "key-offset" | "key-size" | "fan-in" | "repeat":
                self.sizes[option] = parse_count(value, f"--{option}")
            case "backend" | "kernel" | "format":
                self.last[option] = _one_of(value, _words(option), f"--{option}")
            case "files0-from" | "report" | "algorithm" | "dtype" | "key-field":
                self.last[option] = value
            case _ if option == OPERAND:
                self._operand(value)
            case _ if option == FILE:
                self.files.append(value)
            case _:
                self.flags.add(option)
        if self.posix and self.files:
            self._take_files()

    def command(self) -> SortCommand:
        """Raises UsageError for what cannot go together."""
        if self.files and "files0-from" in self.last:
            raise UsageError(f"{self.files[0]}: files are named by --files0-from already", way_out="use one of the two")
        said = self.single.get("t")
        separator = None if said is None else parse_separator(said)
        self._look_up(separator)
        order = line_order(
            self.letters,
            self.keys,
            separator=separator,
            stable=bool(self.flags & {"s", "u"}),
            zero_terminated="z" in self.flags,
        )
        command = SortCommand(
            mode=self._mode(),
            files=tuple(self.files) or (() if "files0-from" in self.last else ("-",)),
            order=order,
            unique="u" in self.flags,
            output=self.single.get("o"),
            memory=self.memory,
            threads=self.threads,
            batch_size=self.batch_size,
            temporary_folders=tuple(self.folders),
            compress_program=self.single.get("compress-program"),
            files0_from=self.last.get("files0-from"),
            random_source=self.single.get("random-source"),
            debug="debug" in self.flags,
            backend=cast("BackendChoice", self.last.get("backend", "auto")),
            device=self.device,
            header=header_lines(self.header, tuple(self.named.values())),
            csv="csv" in self.flags,
            report=self.last.get("report"),
            kernel=cast("KernelName", self.last.get("kernel", "auto")),
            algorithm=self.last.get("algorithm"),
            progress="progress" in self.flags,
            format=self.last.get("format"),
            dtype=self.last.get("dtype"),
            record_size=self.sizes.get("record-size"),
            key_offset=self.sizes.get("key-offset"),
            key_size=self.sizes.get("key-size"),
            key_field=self.last.get("key-field"),
            fan_in=self.sizes.get("fan-in"),
            compare="compare" in self.flags,
            compressed="compressed" in self.flags,
            repeat=self.sizes.get("repeat"),
            notes=self._notes(separator),
        )
        if command.debug and (self.check or command.output is not None or command.csv):
            other = f"-{self.check or 'o'}" if self.check or command.output is not None else "--csv"
            raise UsageError(f"options {other} --debug are incompatible", way_out="leave one out")
        check_operands(command, command.files)
        if self.check and command.output is not None:
            raise UsageError(f"options -{self.check}o are incompatible", way_out="a check writes nothing: leave -o out")
        return command

    def _notes(self, separator: int | None) -> tuple[str, ...]:
        if "debug" not in self.flags:
            return ()
        from gpumerge_cli.cli.gnu_debug import notes

        stable = bool(self.flags & {"s", "u"})
        return tuple(notes(self.letters, inheriting(self.letters, self.keys), separator, stable=stable))

    def _key(self, text: str) -> None:
        if self.csv:  # what a name stands for is known once the files are
            self.named[len(self.keys)] = text
        self.keys.append(KeySpec() if self.csv else parse_key(text))

    def _look_up(self, separator: int | None) -> None:
        """Find the fields that keys name."""
        plain = "compressed" not in self.flags
        for at, text in self.named.items():
            self.keys[at] = parse_csv_key(text, lambda: csv_names(self.files, separator, self.header, plain=plain))

    def _mode(self) -> Mode:
        if self.check:
            return "check" if self.check == "c" else "check-quiet"
        return "merge" if "m" in self.flags else "sort"

    def _check(self, how: Literal["c", "C"]) -> None:
        if self.check not in (None, how):
            raise UsageError("options -cC are incompatible", way_out="leave one out")
        self.check = how

    def _once(self, option: str, value: str) -> None:
        before = self.single.setdefault(option, value)
        if before != value:
            name = f"-{option}" if len(option) == 1 else f"--{option}"
            raise UsageError(f"{name} is given as {before!r} and as {value!r}", way_out="give it once")

    def _operand(self, text: str) -> None:
        """A file, or a key in the obsolete form, which one POSIX of three takes only with an end."""
        if text.startswith("+"):
            end = self.left[0] if self.left and re.match("-[0-9]", self.left[0]) else None
            self.obsolete_keys |= end is not None and not self.posix
            key = parse_obsolete_key(text, end) if self.obsolete_keys else None
            if key is not None:
                self.keys.append(key)
                if end is not None:
                    self.left.popleft()
                return
        self.files.append(text)

    def _take_files(self) -> None:
        """Behind the first file everything is one, but for -o in the obsolete place."""
        while self.left:
            named = self.left[0].startswith("-o") and (len(self.left[0]) > 2 or len(self.left) > 1)
            if named and self.obsolete_keys and not self.check:
                return
            self.files.append(self.left.popleft())


def _takes_obsolete_keys(environ: Mapping[str, str]) -> bool:
    version = re.fullmatch(r"\s*([+-]?[0-9]+)", environ.get("_POSIX2_VERSION", ""), re.ASCII)
    return version is None or int(version[1]) not in _POSIX_WITHOUT_OBSOLETE_KEYS


def _words(option: str) -> tuple[str, ...]:
    # Only where they are asked for: the start-up of every merge pays for imports.
    if option == "backend":
        from gpumerge_cli.engine.request import BackendChoice

        return get_args(BackendChoice)
    if option == "format":
        from gpumerge_cli.formats.kinds import format_names

        return format_names()
    from gpumerge_cli.backends.base import KERNELS

    return ("auto", *KERNELS)


def _one_of(word: str, words: Sequence[str], option: str) -> str:
    if word not in words:
        raise UsageError(f"{option}: {word!r} is no word for it", way_out=f"use {', '.join(words)}")
    return word
