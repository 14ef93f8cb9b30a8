"""The order of text lines: GNU sort's keys, options and rules in the C locale or another, as plain data.

A line is its bytes without the terminator. `LineOrder.table` is what compiled code on both backends reads; its
docstring describes the layout. Source of the rules: POSIX sort and GNU coreutils' manual of sort and of version sort.
"""

from __future__ import annotations

import os
from array import array
from typing import Literal

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.order.key_kinds import KIND_OF, KINDS, LOCALE_KIND, NUMBER_OF, TEXT_PADDING, WORD_BYTES, KeyKind

TEXT = KINDS[0].name
"""The kind that compares texts: by their bytes, or by a locale."""
NO_KEYS = len(KINDS)
"""Stands for the kind of keys of an order without keys."""
NEWLINE, NUL = 10, 0
TABLE_HEAD, KEY_WORDS = 8, 8
"""Words of a table before the first key, and words of a key."""
STABLE, REVERSE, PLAIN, NUMERIC, CHECKS_VALUES, IN_LOCALE, RECORD_AHEAD = 1, 2, 4, 8, 16, 32, 64
"""Flags of a table: no last resort; the last resort is reversed; there are no keys; there is one, `LineKey("numeric")`
as it stands or reversed, so that compiled code may take a shorter way; invalid values of some key are errors; text
compares by a locale; the last resort compares what is ahead of the first SEPARATOR."""
SEPARATOR = 1
"""The byte between an item and each of its fields, where a format took it to pieces: see LineOrder.record_of.
It is lower than any byte of text, so lines compare as their records do."""
MARK, END = bytes([SEPARATOR]), bytes([NUL])
"""The bytes behind each field, and behind a record."""
BLANKS = b" \t\n"
_POINT = 0x2E
QUOTED, RECORD_END, FIRST_LINE = 256, 512, 1024
"""Flags of a separator in a table. kernels/field_separator.cuh reads them."""
LONGEST_SEPARATOR = 7
"""Bytes that may stand between fields."""
_REST_AT = 12
Quotes = Literal["doubled", "none", "backslash"]
"""The meaning of quotes. doubled: they enclose fields, and one within is written twice. none: they are text.
backslash: as doubled, and a backslash ahead of a quote, a backslash, a separator or an end of line makes that text."""
KEY_REVERSE, FOLD, DICTIONARY, PRINTABLE, SKIP_START, SKIP_END = 1, 2, 4, 8, 16, 32
CLASSED, NULLS, NULLS_FIRST, NAMED_NULLS, INVALID_FIRST, CHECKED = 64, 128, 256, 512, 1024, 2048
SEPARATED, LOOSE = 4096, 8192
"""Flags of a key in a table. kernels/key_classes.cuh reads those of the second line, kernels/separated.cuh the last."""
_THOUSANDS_AT, _DECIMAL_AT = 16, 24
"""Bits of the flags from which on the bytes of `thousands` and `decimal` lie."""


@dataclass(frozen=True)
class LineKey:
    """One key: where it lies in a line, and how it compares. Fields and characters are counted from 0."""

    compare: str = "bytes"
    """The name of its kind, see key_kinds."""
    start_field: int = 0
    """The field in which the key begins."""
    start_char: int = 0
    """The first byte of that field that belongs to the key."""
    end_field: int | None = None
    """The field in which the key ends; None for the end of the line."""
    end_char: int = 0
    """The bytes of that field that belong to the key; 0 for all."""
    reverse: bool = False
    """Whether it compares the other way round."""
    fold: bool = False
    """Whether lower case counts as upper."""
    dictionary: bool = False
    """Whether only blanks, letters and digits count."""
    printable: bool = False
    """Whether only printable characters count."""
    skip_start: bool = False
    """Whether `start_char` counts from behind the leading blanks."""
    skip_end: bool = False
    """Whether `end_char` counts from behind the leading blanks."""
    name: str = field(default="", compare=False)
    """The field as `option` named it; "" for a key in the form of GNU's -k."""
    option: str = field(default="--field", compare=False)
    """The option that named the field."""
    parameters: bytes = b""
    """Bytes for the kind's function in compiled code, see key_kinds.cuh; b"" for KeyKind.default."""
    nulls: str = ""
    """The place of nulls, "first" or "last", which `reverse` does not turn round; "" for KeyKind.nulls."""
    null_values: tuple[bytes, ...] = ()
    """Texts that are nulls as empty ones are, without blanks at their ends. They imply a place of nulls: "last"."""
    thousands: int = 0
    """The byte that may stand between digits of the whole part of a number; 0 for none."""
    decimal: int = 0
    """The byte between the whole part and the fraction of a number; 0 for a point."""
    loose: bool = False
    """Whether `thousands` may stand anywhere ahead of the fraction, as GNU sort takes those of a locale."""
    invalid: str = ""
    """The place of texts that are no values of a typed kind, "first" or "last"; "" if they are an error."""

    @property
    def kind(self) -> KeyKind:
        """The kind that `compare` names. Raises KeyError if there is none."""
        return KIND_OF[self.compare]

    @property
    def whole(self) -> bool:
        """True if the key is all of a line."""
        return (self.start_field, self.start_char, self.end_field) == (0, 0, None)

    @property
    def null_place(self) -> str:
        """The place of nulls: "first", "last", or "" if there are none."""
        return self.nulls or self.kind.nulls or ("last" if self.null_values else "")

    @property
    def checked(self) -> bool:
        """Whether an invalid value is an error."""
        return self.kind.typed and not self.invalid

    def words(self, parameters: int) -> list[int]:
        """See LineOrder.table. parameters: the place of its parameters."""
        flags = (
            KEY_REVERSE * self.reverse
            | FOLD * self.fold
            | DICTIONARY * self.dictionary
            | PRINTABLE * self.printable
            | SKIP_START * self.skip_start
            | SKIP_END * self.skip_end
            | CLASSED * (self.kind.typed or self.null_place != "")
            | NULLS * (self.null_place != "")
            | NULLS_FIRST * (self.null_place == "first")
            | NAMED_NULLS * (self.null_values != ())
            | INVALID_FIRST * (self.invalid == "first")
            | CHECKED * self.checked
        )
        if self.thousands or self.decimal:
            flags |= (
                SEPARATED
                | LOOSE * self.loose
                | self.thousands << _THOUSANDS_AT
                | (self.decimal or _POINT) << _DECIMAL_AT
            )
        end = -1 if self.end_field is None else self.end_field
        where = [self.start_field, self.start_char, end, self.end_char]
        return [NUMBER_OF[self.compare], *where, flags, parameters, len(self.padded_parameters()) // WORD_BYTES]

    def padded_parameters(self) -> bytes:
        """The parameters, or the default ones of the kind, with zeros up to a multiple of WORD_BYTES."""
        given = self.parameters or self.kind.default
        return given + bytes(-len(given) % WORD_BYTES)

    def all_parameters(self) -> bytes:
        """The parameters in whole words, then the null values as is_named_null of key_classes.cuh reads them."""
        if not self.null_values:
            return self.padded_parameters()
        at = 1 + 2 * len(self.null_values)
        head, texts = array("q", [len(self.null_values)]), b""
        for value in self.null_values:
            head.extend((at + len(texts) // WORD_BYTES, len(value)))
            texts += value + bytes(-len(value) % WORD_BYTES)
        return self.padded_parameters() + head.tobytes() + texts + bytes(TEXT_PADDING)

    def describe(self) -> str:
        """The key in the words of sort's -k: "2,2nr", "1.3b,4", "2,2:hex,r". A key that is all of a line has letters
        only: "nr". The word of a typed one is then not there."""
        letters = self._letters
        if self.whole:
            return "b" * self.skip_start + letters
        start = f"{self.start_field + 1}" + (f".{self.start_char + 1}" if self.start_char else "")
        start += "b" * self.skip_start
        if self.end_field is None:
            return start + letters
        end = f",{self.end_field + 1}" + (f".{self.end_char}" if self.end_char else "") + "b" * self.skip_end
        return start + end + letters

    @property
    def option_text(self) -> str:
        """The key with its option: "-k 2,2nr", or "--field amount:nr"."""
        if self.name:
            letters = self._letters.lstrip(":") + "b" * self.skip_start
            return f"{self.option} {self.name}{':' * bool(letters)}{letters}"
        described = self.describe()
        if self.kind.flag and self.whole:
            return f"--{self.kind.flag}{' -r' * self.reverse}"
        if self.kind.typed and self.end_field is None:
            return f"{f'-k {described} ' * (not self.whole)}--sort={self.kind.word}{' -r' * self.reverse}"
        return f"-k {described}" if described[:1].isdigit() else f"-k 1{described}"

    @property
    def _letters(self) -> str:
        if self.kind.typed:
            return "" if self.end_field is None else f":{self.kind.word}{',r' * self.reverse}"
        flags = zip("dfir", (self.dictionary, self.fold, self.printable, self.reverse), strict=True)
        return self.kind.letter + "".join(letter for letter, on in flags if on)


@dataclass(frozen=True)
class Spelling:
    """The words and options by which users know the lines that a format makes of its items."""

    items: str = "lines"
    """The word for all of them in the description of an order."""
    item: str = "line"
    """The word for one of them."""
    option: str = ""
    """The option that asks for the format, "" if none needs to."""
    separator: bytes | None = None
    """The text between fields if no option names one; None for blanks."""
    has_returns: bool = False
    """Whether a carriage return at an item's end belongs to its end, so that users do not write it."""
    has_counts: bool = False
    """Whether a newline and a count stand behind the text of an item, which users see ahead of the text."""
    requested: LineOrder | None = None
    """The order as options give it, whose keys count fields of items. None: the lines are the items."""

    def of(self, requested: LineOrder) -> Spelling:
        """The same words for lines whose items are in the order `requested`."""
        return replace(self, requested=requested)

    def separator_option(self, separator: bytes | None) -> str:
        """The option that names a separator; "" for the one that no option needs to name."""
        if separator is None or separator == self.separator:
            return ""
        from shlex import quote  # only for messages: it loads more

        escapes = {END: r"\0", b"\t": r"\t"}
        return f"-t {quote(escapes.get(separator, separator_text(separator)))}"


LINES = Spelling()
"""That of lines that are items as they stand."""


@dataclass(frozen=True)
class LineOrder:
    """The rules by which lines compare: by keys, and then by the last resort."""

    keys: tuple[LineKey, ...] = ()
    """The keys, which compare one after the other."""
    separator: bytes | None = None
    """The text between fields: a byte, or up to LONGEST_SEPARATOR bytes, none of which is NUL. None: fields begin at
    the empty place between a non-blank and a blank, so that leading blanks belong to them. Blanks are space, tab and
    newline."""
    reverse: bool = False
    """Whether the last resort compares the other way round."""
    stable: bool = False
    """Whether lines with equal keys keep the order of the input. Otherwise the last resort compares all bytes."""
    terminator: int = NEWLINE
    """The byte that ends a line."""
    quoted: bool = False
    """Whether fields may be quoted as `quotes` says: only quoted ones end in a quote, and a carriage return at a line's
    end belongs to no key. There is a separator then."""
    quotes: Quotes = "doubled"
    """The meaning of quotes. Lines whose quotes mean more than `doubled` have them taken to pieces."""
    first_line: bool = False
    """Whether keys lie in the part of a line ahead of the first newline in it. The terminator is another byte then."""
    locale: str = ""
    """The name of the locale by whose LC_COLLATE texts compare, and lines in the last resort; "" for their bytes."""
    spelling: Spelling = field(default=LINES, compare=False)
    """The words for the lines."""
    stable_by: str = field(default="leave --last-resort out", compare=False)
    """The way for a user to make this order stable."""

    @property
    def is_timed(self) -> bool:
        """Whether some key is a time."""
        return any(key.kind.timed for key in self.keys)

    @property
    def checks_values(self) -> bool:
        """Whether an invalid value of some key is an error."""
        return any(key.checked for key in self.keys)

    @property
    def asks_for_text(self) -> bool:
        """Whether it has rules that only lines have. A locale does not count: other items ignore it."""
        return replace(self, reverse=False, stable=False, locale="") != LineOrder()

    @property
    def by_locale(self) -> bool:
        """Whether the locale decides anything."""
        return self.locale != "" and (not self.keys or not self.stable or any(key.compare == TEXT for key in self.keys))

    @property
    def gpu(self) -> bool:
        """Whether a GPU compares such lines, too."""
        return all(key.kind.gpu for key in self._compiled_keys)

    @property
    def _compiled_keys(self) -> tuple[LineKey, ...]:
        """The keys as compiled code knows them."""
        if not self.by_locale:
            return self.keys
        keys = self.keys or (LineKey(reverse=self.reverse),)
        return tuple(replace(key, compare=LOCALE_KIND) if key.compare == TEXT else key for key in keys)

    @property
    def compared(self) -> int:
        """The kinds of the keys, one bit for each: see COMPARED in kernels/fields.cuh."""
        kinds = {NUMBER_OF[key.compare] for key in self._compiled_keys} or {NO_KEYS}
        return sum(1 << kind for kind in kinds)

    def table(self) -> array[int]:
        """The order as int64 words, for compiled code.

        0: flags. 1: number of keys. 2: see separator_word. 3: terminator. 4: the number of all these
        words. 5: the place of the locale's name, 0 for none. 6 and 7: spare. Then for each key KEY_WORDS words: the
        number of its kind, start field, start character, end field or -1, end character, flags, the place of its
        parameters, and their number. Then the parameters of each key, and its null values. Then the name, which ends in
        NUL.
        """
        by_locale, given = self.by_locale, self._compiled_keys
        plain = not given
        numeric = not by_locale and len(self.keys) == 1 and replace(self.keys[0], reverse=False) == LineKey("numeric")
        numeric &= not self.first_line
        stable = self.stable or (by_locale and not self.keys)
        flags = STABLE * stable | REVERSE * self.reverse | PLAIN * plain | NUMERIC * numeric
        flags |= CHECKS_VALUES * self.checks_values | IN_LOCALE * by_locale
        flags |= RECORD_AHEAD * (by_locale and self.made and self.has_fields)
        of_record = RECORD_END | QUOTED * (self.quotes == "doubled") if self.quoted else 0
        separator = separator_word(self.separator, of_record | FIRST_LINE * (self.first_line and bool(self.keys)))
        at = TABLE_HEAD + KEY_WORDS * len(given)
        keys, parameters = array("q"), array("q")
        for key in given:
            keys.extend(key.words(at + len(parameters)))
            parameters.frombytes(key.all_parameters())
        locale = at + len(parameters) if by_locale else 0
        if by_locale:
            name = os.fsencode(self.locale)
            parameters.frombytes(name + bytes(WORD_BYTES - len(name) % WORD_BYTES))
        head = [flags, len(given), separator, self.terminator, at + len(parameters), locale, 0, 0]
        return array("q", head) + keys + parameters

    @property
    def requested(self) -> LineOrder:
        """The order of the items as options give it, whose keys count fields of items."""
        return self.spelling.requested or self

    @property
    def made(self) -> bool:
        """Whether a format made the lines of other items, so that users do not know them as lines."""
        return self.spelling.requested is not None

    def value_of(self, part: bytes) -> bytes:
        """The value of a key that is this part of a line, of which quotes do not belong to it."""
        return part.replace(b'""', b'"') if self.quoted and self.quotes == "doubled" else part

    def record_of(self, line: bytes) -> bytes:
        """A line as users know it: the item ahead of its fields or its count, where a format took it to pieces."""
        if self.spelling.has_counts:
            return line.rpartition(b"\n")[0]
        return line.split(MARK, 1)[0] if self.has_fields else line

    def between_fields(self, part: bytes) -> bytes:
        """A part of a line, with the separator of the file where the line was made of fields."""
        separator = self.requested.separator
        separator = self.spelling.separator if separator is None else separator
        if separator is None or not self.made or not self.has_fields:
            return part
        return part.replace(MARK, separator)

    @property
    def has_fields(self) -> bool:
        """Whether a line is a record, then its fields: see `record_of`."""
        return (self.separator, self.terminator, self.quoted) == (MARK, NUL, False)

    @property
    def simple(self) -> bool:
        """True if lines end in newlines and compare as a whole: bytewise, or by their leading numbers."""
        keys = [replace(key, reverse=False) for key in self.keys]
        return (
            not self.by_locale and self.terminator == NEWLINE and keys in ([], [LineKey("numeric")]) and self._one_way
        )

    @property
    def numeric(self) -> bool:
        """True if the first key is the leading number of the whole line."""
        return bool(self.keys) and replace(self.keys[0], reverse=False) == LineKey("numeric")

    @property
    def _one_way(self) -> bool:
        return all(key.reverse == self.reverse for key in self.keys)

    def describe(self) -> str:
        """For reports: "lines, bytewise", "lines, numeric, descending, ties left", "CSV, by -k 2,2n -t ','"."""
        return f"{self.spelling.items}, {self.requested._described()}"

    def _described(self) -> str:
        if self.simple:
            name = "numeric" if self.numeric else "bytewise"
            name += ", descending" if self.reverse else ""
        else:
            options = [
                f"-{text}" if text.isalpha() else key.option_text for key in self.keys for text in [key.describe()]
            ]
            options += ["-r"] * ((self.reverse and not self._one_way) or (self.reverse and not self.keys))
            options += [] if self.separator is None else [f"-t {separator_text(self.separator)!r}"]
            options += ["-z"] * (self.terminator == NUL)
            options += [f"--locale {self.locale}"] * self.by_locale
            name = f"by {' '.join(options)}"
        return f"{name}, ties left" if self.stable and self.keys else name


def separator_word(separator: bytes | None, flags: int = 0) -> int:
    """A separator with its flags as compiled code reads it; None for blanks."""
    if separator is None:
        return ~flags
    return separator[0] | flags | int.from_bytes(separator[1:], "little") << _REST_AT


def separator_text(separator: bytes) -> str:
    """A separator as messages show it: as text if it is UTF-8, else one character for each byte."""
    try:
        return separator.decode()
    except UnicodeDecodeError:
        return separator.decode("latin-1")
