"""Key specifications and ordering options as GNU sort takes them, made into a LineOrder.

An ordering option is a symbol: its letter, "b", "d", "f", "g", "h", "i", "M", "n", "R", "r" or "V", or the word of a
typed kind, as "hex", which is written behind a colon. A key holds the symbols that are written at its start and at its
end; one without any takes the global ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from gpumerge_cli.cli.gnu_values import NUMBER, SATURATED, match_word, parse_number
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_kinds import KINDS, LETTERS, TYPED_WORDS
from gpumerge_cli.order.rules import NEWLINE, NUL, LineKey, LineOrder
from gpumerge_cli.patterns import pattern
from gpumerge_cli.suggestions import did_you_mean
from gpumerge_cli.units import quoted_value

_POSITION = rf"({NUMBER})(?:\.({NUMBER}))?([{LETTERS}]*)"
WHOLE_KEY = pattern(rf"{_POSITION}(?:,{_POSITION})?", re.ASCII)
_OBSOLETE_START = pattern(rf"\+{_POSITION}", re.ASCII)
_OBSOLETE_END = pattern(rf"-{_POSITION}", re.ASCII)
SYMBOLS = rf"(?:{'|'.join(TYPED_WORDS)})(?:,r)?|[{LETTERS}]*"
"""The pattern of the options behind the colon of a column: the word of a typed kind, alone or with r; or letters."""
_TYPED_KEY = pattern(rf"(.*):((?:{'|'.join(TYPED_WORDS)})(?:,[br]+)?)", re.DOTALL)
_TYPED_WORD = pattern(rf".*:(?:{'|'.join(TYPED_WORDS)})", re.DOTALL)
_FLAGS = pattern("[br]+")
_OTHER_KIND = pattern(r".*?:([A-Za-z][A-Za-z-]+(?:,.*)?)", re.DOTALL)
_ONE_KIND = rf"{'|'.join(TYPED_WORDS)}|[{LETTERS}]+"
_TWO_KINDS = pattern(rf"(.*?):({_ONE_KIND})[:,]({_ONE_KIND})(?:,[br]+)?", re.DOTALL)
_SORT_WORDS = {kind.word: kind.symbol for kind in sorted(KINDS, key=lambda kind: kind.word) if kind.word}
_ALONE = {kind.symbol for kind in KINDS if kind.alone}
_TOGETHER = {"d", "i"} | {kind.letter for kind in KINDS if not kind.alone}
"""Symbols of which a key may have one alone, or as many as there are."""


@dataclass(frozen=True)
class KeySpec:
    """A key as it is written."""

    line_key: LineKey = LineKey()
    """Its place and its name. The symbols are applied to it by line_order."""
    start: frozenset[str] = frozenset()
    """The symbols at its start, the word of a typed kind among them."""
    end: frozenset[str] = frozenset()
    """The letters at its end."""
    obsolete: bool = False
    """It is written as +POS1 -POS2."""
    in_header: bool = False
    """The name is one of the header, not a number."""


def symbols_of(written: str) -> frozenset[str]:
    """The symbols that SYMBOLS matches: "nr" has two, "hex,r" too."""
    word, _, letters = written.partition(",")
    return frozenset({word, *letters}) if word in TYPED_WORDS else frozenset(written)


def is_symbols(written: str) -> bool:
    """Whether a text is options as they stand behind the colon of a column."""
    return re.fullmatch(SYMBOLS, written) is not None


def split_typed(text: str) -> tuple[str, str]:
    """A key without the typed kind behind its colon, and that kind: "2,3" and "hex,r"; or "" for it."""
    found = _TYPED_KEY.fullmatch(text)
    return (text, "") if found is None else (found[1], found[2])


def split_columns(text: str) -> list[str]:
    """The columns between the commas of a text. An r behind a typed kind and a comma belongs to it."""
    words: list[str] = []
    for word in text.split(","):
        if words and word == "r" and _TYPED_WORD.fullmatch(words[-1]):
            words[-1] += f",{word}"
        else:
            words.append(word)
    return words


def unknown_symbols(key: str, written: str, letters: str = LETTERS) -> UsageError:
    """The error for what is written behind the colon of a key. key: with its option. letters: those that it takes."""
    word = written.partition(",")[0]
    if word in TYPED_WORDS:
        return UsageError(
            f"{key}: invalid key options {quoted_value(written)}", way_out=f"write {word}, or {word},r to reverse it"
        )
    if word in _SORT_WORDS:
        return UsageError(
            f"{key}: there is no kind of key {quoted_value(word)}", way_out=f"write its letter, {_SORT_WORDS[word]}"
        )
    if len(word) > 1 and set(word.lower()) - set(letters):
        return UsageError(
            f"{key}: there is no kind of key {quoted_value(word)}",
            way_out=did_you_mean(word, TYPED_WORDS, f"use {', '.join(TYPED_WORDS)}, or letters from {letters}"),
        )
    return UsageError(f"{key}: invalid key options {quoted_value(written)}", way_out=f"use letters from {letters}")


def check_one_kind(text: str, option: str, is_place: Callable[[str], object]) -> None:
    """Raises UsageError if a key has two kinds, as "2:hex:size" or "2:hex,n".

    is_place: whether a text, which lies ahead of the first colon, is a place in a line.
    """
    found = _TWO_KINDS.fullmatch(text)
    if found is None or not is_place(found[1]):
        return
    place, *kinds = found.groups()
    first, second = (_FLAGS.fullmatch(kind) is None for kind in kinds)
    if first and second:
        raise _two_kinds(f"{option} {text}", kinds)
    if first and kinds[0] in TYPED_WORDS:
        raise UsageError(f"{option} {text}: invalid key", way_out=f"write {place}:{kinds[0]},{kinds[1]}")


def _two_kinds(key: str, kinds: Iterable[str]) -> UsageError:
    return UsageError(f"{key}: {' and '.join(kinds)} are incompatible", way_out="give a key one way to compare")


def parse_key(text: str) -> KeySpec:
    """The key that `F[.C][OPTIONS][,F[.C][OPTIONS]][:KIND[,OPTIONS]]` names, fields and characters counted from 1.

    With a kind, a key without an end ends with its field. Raises UsageError for an invalid key.
    """
    place, written = split_typed(text)
    found = WHOLE_KEY.fullmatch(place)
    if found is None:
        check_one_kind(text, "-k", WHOLE_KEY.fullmatch)
        other = _OTHER_KIND.fullmatch(text)
        if other is not None and WHOLE_KEY.fullmatch(text.partition(":")[0]):
            raise unknown_symbols(f"-k {text}", other[1])
        raise UsageError(
            f"-k: invalid key {quoted_value(text)}",
            way_out=f"write F[.C][OPTIONS][,F[.C][OPTIONS]][:KIND], options from {LETTERS}; --field takes names",
        )
    field, char, start, last_field, last_char, end = found.groups()
    if 0 in map(parse_number, (field, char or "1", last_field or "1")):
        raise UsageError(f"-k {quoted_value(text)}: there is no field or character 0", way_out="count from 1")
    symbols = symbols_of(written)
    if written:
        last_field = last_field or field
        letters = {*start, *(end or "")} - {"b", "r"}
        if letters:
            raise _two_kinds(f"-k {text}", [*sorted(letters), *symbols.intersection(TYPED_WORDS)])
    line_key = LineKey(
        start_field=_saturated(parse_number(field) - 1),
        start_char=_saturated(parse_number(char or "1") - 1),
        end_field=None if last_field is None else _saturated(parse_number(last_field) - 1),
        end_char=_saturated(parse_number(last_char or "0")),
    )
    return KeySpec(line_key, frozenset(start) | symbols, frozenset(end or ""))


def field_key(
    field: int, symbols: Iterable[str] = (), name: str = "", option: str = "--field", *, in_header: bool = False
) -> KeySpec:
    """The key that is all of a field, counted from 0. name, option: see LineKey."""
    line_key = LineKey(start_field=field, end_field=field, name=name, option=option)
    return KeySpec(line_key, frozenset(symbols), in_header=in_header)


def parse_obsolete_key(start: str, end: str | None) -> KeySpec | None:
    """The key that `+F[.C][OPTIONS] [-F[.C][OPTIONS]]` names, fields and characters counted from 0.

    None if `start` is the name of a file. Raises UsageError if `end` cannot follow it.
    """
    found = _OBSOLETE_START.fullmatch(start)
    if found is None:
        return None
    line_key = LineKey(
        start_field=_saturated(parse_number(found[1])), start_char=_saturated(parse_number(found[2] or "0"))
    )
    key = KeySpec(line_key, frozenset(found[3]), obsolete=True)
    if end is None:
        return key
    found = _OBSOLETE_END.fullmatch(end)
    if found is None:
        raise UsageError(
            f"invalid end {quoted_value(end)} of the key {quoted_value(start)}",
            way_out="write -F[.C][OPTIONS], or use -k",
        )
    field, char = parse_number(found[1]), parse_number(found[2] or "0")
    # Without characters the key ends ahead of field F: at the end of the one before.
    field -= field > 0 and char == 0
    line_key = replace(line_key, end_field=_saturated(field), end_char=_saturated(char))
    return replace(key, line_key=line_key, end=frozenset(found[3]))


def line_order(
    letters: Collection[str],
    keys: Sequence[KeySpec] = (),
    *,
    separator: bytes | None = None,
    stable: bool = False,
    zero_terminated: bool = False,
    stable_by: str = "leave --last-resort out",
) -> LineOrder:
    """The order that global `letters` and `keys` make, where keys without letters take the global ones.

    stable_by: how the command makes its order stable. The keys have no parameters yet, see with_parameters. Raises
    UsageError for options that do not go together.
    """
    given = frozenset(letters)
    if not keys and given - {"r"}:
        keys = (KeySpec(),)
    return LineOrder(
        keys=tuple(map(_line_key, inheriting(given, keys))),
        separator=separator,
        reverse="r" in given,
        stable=stable,
        terminator=NUL if zero_terminated else NEWLINE,
        stable_by=stable_by,
    )


def inheriting(letters: Collection[str], keys: Sequence[KeySpec]) -> list[KeySpec]:
    """`keys`, those without letters with the global `letters` at both ends."""
    given = frozenset(letters)
    return [key if key.start | key.end else replace(key, start=given, end=given) for key in keys]


def parse_sort_word(word: str, exit_code: int = 2) -> str:
    """The symbol that --sort=WORD stands for. Raises UsageError with `exit_code` if it is none."""
    return match_word(word, _SORT_WORDS, "--sort", exit_code)


def _line_key(key: KeySpec) -> LineKey:
    letters = key.start | key.end
    typed = letters.intersection(TYPED_WORDS)
    if typed and len(letters & (_ALONE | _TOGETHER)) > 1:
        words = (f"--sort={one}" if one in TYPED_WORDS else f"-{one}" for one in sorted(letters & (_ALONE | _TOGETHER)))
        raise UsageError(f"{' and '.join(words)} are incompatible", way_out="give a key one way to compare")
    if len(letters & _ALONE) + bool(letters & _TOGETHER) > 1:
        shown = "".join(sorted(letters - set("br"), key=LETTERS.index))
        raise UsageError(f"options -{shown} are incompatible", way_out="give a key one way to compare")
    return replace(
        key.line_key,
        compare=next((kind.name for kind in KINDS if kind.symbol in letters), "bytes"),
        reverse="r" in letters,
        fold="f" in letters,
        dictionary="d" in letters,
        # "d" leaves out all unprintable characters, too.
        printable="i" in letters and "d" not in letters,
        skip_start="b" in key.start,
        # A key that ends with a whole field counts no characters there.
        skip_end="b" in key.end and key.line_key.end_char > 0,
    )


def _saturated(number: int) -> int:
    return min(number, SATURATED)
