"""gpumerge sort's command line: GNU sort's, with GNU's checks in GNU's order, and gpumerge's own long options."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from gpumerge_cli.cli.chosen_format import COLUMN_OPTIONS, gives_columns, without_schema_of_tables
from gpumerge_cli.cli.fields import SelectedKeys, find_keys
from gpumerge_cli.cli.gnu_values import match_word, parse_separator
from gpumerge_cli.cli.keyspec import (
    KeySpec,
    inheriting,
    line_order,
    parse_key,
    parse_obsolete_key,
    parse_sort_word,
)
from gpumerge_cli.cli.line_settings import without_line_settings
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.model import Option, Value, WrittenValue
from gpumerge_cli.cli.options.typed import SortOptions
from gpumerge_cli.cli.scan import ENDING, Operand, last_value, scan
from gpumerge_cli.cli.values import OptionValue, TakenValues, make_options
from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.locale_names import locale_named
from gpumerge_cli.order.rules import LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings
    from gpumerge_cli.formats.schema import Schema

Mode = Literal["sort", "merge", "check", "check-quiet", "help", "version"]

_CHECK_WORDS = {"quiet": "C", "silent": "C", "diagnose-first": "c"}
_WRONG_WORD = 1
"""The exit code for an unknown WORD: GNU's manual has 2 for every error, but GNU sort ends with 1 for this one."""
_POSIX_WITHOUT_OBSOLETE_KEYS = range(200112, 200809)


@dataclass(frozen=True)
class SortCommand:
    """A command line of gpumerge sort, as it was read."""

    mode: Mode = "sort"
    files: tuple[str, ...] = ("-",)
    """The operands; ("-",) if there are none and no `files0_from`, whose names are here only if columns need them."""
    order: LineOrder = field(default_factory=LineOrder)
    """The order, its keys without parameters: see with_parameters."""
    keys: SelectedKeys = field(default_factory=SelectedKeys)
    """The keys of that order."""
    options: SortOptions = field(default_factory=lambda: _sort_options({}, ()))
    """Memory is in bytes, where 0 stands for the least that works; threads are up to 2^62."""
    notes: tuple[str, ...] = ()
    """The notes of --debug."""
    schema: Schema = "same"
    """That of the options, which have it for lines alone."""


def parse_sort(
    arguments: Sequence[str], environ: Mapping[str, str] = os.environ, settings: Settings | None = None
) -> SortCommand:
    """Read `arguments`, the words behind "gpumerge sort".

    environ: _POSIX2_VERSION and POSIXLY_CORRECT count, as for GNU sort. --help and --version end the reading: then only
    the mode is set. settings: those of options that the command line leaves out, which are read behind it. Raises
    UsageError for the first mistake that GNU sort would find before it opens files.
    """
    row = command("sort")
    posix = "POSIXLY_CORRECT" in environ
    last = {name: last_value(row, arguments, row.option(name), posix=posix) for name in COLUMN_OPTIONS}
    named = any(gives_columns(name, value) for name, value in last.items())
    reading = _Reading(named, deque(arguments), _takes_obsolete_keys(environ), posix)
    for word in scan(row, reading.left):
        if isinstance(word, Operand):
            reading.take_operand(word)
            reading.end_options()
        elif word.option.name in ENDING:
            return SortCommand(mode=cast(Mode, word.option.name))
        else:
            reading.take(word.option, word.value, word.written)
            reading.end_options()
    return reading.command(settings)


def sort_command(option_values: Sequence[OptionValue], files: Sequence[str], settings: Settings) -> SortCommand:
    """The command with files and with options, of which none ends the reading. Raises as parse_sort does."""
    named = any(gives_columns(one.option.name, one.value) for one in option_values if one.option.name in COLUMN_OPTIONS)
    reading = _Reading(named=named, files=[*files])
    for one in option_values:
        reading.take(one.option, one.value, one.written)
    return reading.command(settings)


def _sort_options(values: Mapping[str, Value], given: Collection[str], sequence: Sequence[str] = ()) -> SortOptions:
    options = make_options(command("sort"), values, given, sequence)
    assert isinstance(options, SortOptions)
    return options


def check_operands(command: SortCommand, files: Sequence[str]) -> None:
    """Raise UsageError if `command` checks and there is more than one file, with the names from files0_from."""
    if command.mode in ("check", "check-quiet") and len(files) > 1:
        raise UsageError(f"{files[1]}: only one file can be checked", way_out="check one after the other")


@dataclass
class _Reading:
    """A command line as far as it was read."""

    named: bool
    """Keys may be names of columns."""
    left: deque[str] = field(default_factory=deque)
    """The words still to be read."""
    obsolete_keys: bool = False
    """+POS1 needs no -POS2."""
    posix: bool = False
    """Options end at the first file."""
    given: set[str] = field(default_factory=set)
    """The parameters of the options that were given."""
    sort_words: set[str] = field(default_factory=set)
    """The letters, or words of kinds, that the values of --sort stand for."""
    keys: list[KeySpec | str] = field(default_factory=list)
    """Those that may be names of columns as they are written."""
    sequence: list[str] = field(default_factory=list)
    """See make_options."""
    files: list[str] = field(default_factory=list)
    taken: TakenValues = field(default_factory=TakenValues)
    """The values of options but for those that check."""
    check: str = ""
    """"c", "C", or "" for no check."""

    def take(self, option: Option, value: WrittenValue, written: str) -> None:
        """Take an option with a value, see OptionValue."""
        self.given.add(option.parameter)
        if isinstance(value, str):
            self._take_text(option, value, written)
        elif option.name == "check-quiet" and value:
            self._check("C")
        else:
            self.taken.take(option, value, written)

    def _take_text(self, option: Option, text: str, written: str) -> None:
        """Take an option with a text; first check what GNU sort checks as it comes to it."""
        match option.name:
            case "check":
                self._check(match_word(text, _CHECK_WORDS, "--check", _WRONG_WORD))
                return
            case "key":  # the columns that names stand for are known once the files are
                self._take_key(text, text if self.named else parse_key(text))
                return
            case "sort":
                self.sort_words.add(parse_sort_word(text, _WRONG_WORD))
            case "field-separator":
                parse_separator(text)
            case "field":
                self.sequence.append("field")
        self.taken.take(option, text, written)

    def take_operand(self, operand: Operand) -> None:
        if operand.behind:
            self.files.append(operand.text)
        else:
            self._operand(operand.text)

    def command(self, settings: Settings | None) -> SortCommand:
        """The finished command, with the settings of other options. Raises UsageError for a contradiction."""
        given = frozenset(self.given)
        for option, texts in () if settings is None else settings.others("sort", given):
            for text in texts:
                self.take(option, text, option.names[0])
        values: dict[str, Value] = {**self.taken.values, "files": tuple(self.files)}
        if self.check:
            values |= {"check": "diagnose-first"} if self.check == "c" else {"check_quiet": True}
        options = _sort_options(values, given, self.sequence)
        separator = None if options.field_separator is None else parse_separator(options.field_separator)
        files = options.files
        if options.files0_from is not None and (options.field or any(isinstance(key, str) for key in self.keys)):
            from gpumerge_cli.formats.naming import read_names

            files = read_names(options.files0_from)
        elif options.files0_from is None and not files:
            files = ("-",)
        options = without_line_settings(options, files)
        schema, options = options.schema, without_schema_of_tables(options, files)
        keys = find_keys(options, files, separator, self.keys)
        letters = options.letters | self.sort_words
        order = line_order(
            letters,
            keys.of_lines,
            separator=separator,
            stable=options.keys_alone,
            zero_terminated=options.zero_terminated,
            stable_by="add -s",
        )
        result = SortCommand(
            mode=self._mode(options),
            files=files,
            order=replace(order, quotes=options.quote_rule),
            keys=keys,
            options=options,
            notes=self._notes(options, letters, separator, keys.columns.name),
            schema=schema,
        )
        check_operands(result, result.files)
        return result

    def _notes(
        self, options: SortOptions, letters: set[str], separator: bytes | None, columns: str | None
    ) -> tuple[str, ...]:
        if not options.debug or columns is not None:  # which --debug does not go with
            return ()
        from gpumerge_cli.cli.gnu_debug import debug_notes

        keys = [key for key in self.keys if isinstance(key, KeySpec)]
        return tuple(
            debug_notes(
                letters,
                inheriting(letters, keys),
                separator,
                stable=options.keys_alone,
                locale=locale_named(options.locale),
            )
        )

    def _take_key(self, written: str, key: KeySpec | str) -> None:
        self.taken.take(command("sort").option("key"), written, "-k")
        self.keys.append(key)
        self.sequence.append("key")

    def _mode(self, options: SortOptions) -> Mode:
        if self.check:
            return "check" if self.check == "c" else "check-quiet"
        return "merge" if options.merge else "sort"

    def _check(self, how: str) -> None:
        if self.check not in ("", how):
            raise UsageError("options -cC are incompatible", way_out="leave one out")
        self.check = how

    def _operand(self, text: str) -> None:
        """Take a file, or a key in the obsolete form, which one version of POSIX takes only with an end."""
        if text.startswith("+"):
            end = self.left[0] if self.left and re.match("-[0-9]", self.left[0]) else None
            self.obsolete_keys |= end is not None and not self.posix
            key = parse_obsolete_key(text, end) if self.obsolete_keys else None
            if key is not None:
                self._take_key(text if end is None else f"{text} {end}", key)
                if end is not None:
                    self.left.popleft()
                return
        self.files.append(text)

    def end_options(self) -> None:
        """Under POSIX rules, all words behind the first file are files, except for -o in the obsolete place."""
        while self.posix and self.files and self.left:
            named = self.left[0].startswith("-o") and (len(self.left[0]) > 2 or len(self.left) > 1)
            if named and self.obsolete_keys and not self.check:
                return
            self.files.append(self.left.popleft())


def _takes_obsolete_keys(environ: Mapping[str, str]) -> bool:
    version = re.fullmatch(r"\s*([+-]?[0-9]+)", environ.get("_POSIX2_VERSION", ""), re.ASCII)
    return version is None or int(version[1]) not in _POSIX_WITHOUT_OBSOLETE_KEYS
