"""The key kinds of text lines: how keys compare, and how users name them.

Each row of KINDS is a struct of the same name in kernels/key_kinds.cuh, and kernels/fields.cuh lists the names in the
same order.
"""

from __future__ import annotations

from array import array

from gpumerge_cli.dataclass import dataclass

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOCALE_KIND = "locale"
"""The kind in compiled code of keys of the kind "bytes" whose order has a locale. No option names it."""
SALT_BYTES = 16
WORD_BYTES = 8
"""Bytes of a word of parameters."""
TIME_WORDS = 7
"""Words of the parameters of times ahead of the changes of a zone: TimeParameters in kernels/calendar.cuh."""
TEXT_PADDING = 64
"""Bytes that compiled code may read behind a text."""


def _unchanged(data: bytes, _key: object) -> bytes:
    return data


@dataclass(frozen=True)
class KeyKind:
    """A way in which keys compare."""

    name: str
    letter: str = ""
    """Its option in -k and on the command line; "" for a typed kind, and for the kind that needs none."""
    word: str = ""
    """Its name for --sort; of a typed kind also behind the colon of a key."""
    typed: bool = False
    """Whether it reads values of a type: it has a word in place of a letter, and some texts are no values."""
    begins: bytes | None = None
    """A pattern that the beginnings of keys match, which alone are compared; all other keys are equal.
    None for a kind that compares all of a key."""
    alone: bool = False
    """Whether its letter goes with that of no other kind, nor with those that leave out bytes, on one key."""
    noun: str = "number"
    """The word of messages for a value, or for the beginning that `begins` asks for."""
    blanks: bool = False
    """Whether the blanks around a value of a typed kind count."""
    separated: bool = False
    """Whether its numbers may have separators between digits."""
    nulls: str = ""
    """The place of empty keys, "first" or "last", if --nulls does not give one; "" if they are keys like others."""
    joins: bool = True
    """Whether a join can match by it."""
    file_option: str = ""
    """The option whose file makes LineKey.parameters, without its dashes; "" for a kind that reads no file."""
    draws: int = 0
    """The bytes of that file that are read; random bytes take their place if the option is not given. 0 for a kind that
    reads the whole file and needs the option."""
    fault: str = ""
    """The words of an error behind an invalid text, as "has no time in it"; "" for "is not a NOUN"."""
    flag: str = ""
    """The option that compares whole lines by it and leaves equal ones as they are, without its dashes; "" for none."""
    timed: bool = False
    """Whether its parameters are those of times, see order.times."""
    words: Callable[[bytes, Any], bytes] = _unchanged
    """(the bytes read, a LineKey of this kind) -> its parameters. Raises ValueError, whose text is what is wrong."""
    default: bytes = b""
    """The parameters of a key that gives none."""
    gpu: bool = True
    """Whether a GPU compares such keys, too."""
    gnu: bool = True
    """Whether GNU sort has it, under the same letter."""

    @property
    def option(self) -> str:
        """The name of its option on the command line; "" for a kind without a letter."""
        return f"{self.word}-sort" if self.letter else ""

    @property
    def skips_blanks(self) -> bool:
        """Whether the blanks ahead of a key never count."""
        return self.begins is not None or (self.typed and not self.blanks)

    @property
    def complaint(self) -> str:
        """The words of an error behind an invalid text."""
        return self.fault or f"is not {'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    @property
    def symbol(self) -> str:
        """Its letter, or the word in its place, among the options of a key."""
        return self.letter or self.word


def _typed(name: str, **more: Any) -> KeyKind:
    fields: dict[str, Any] = {"nulls": "last", **more}
    return KeyKind(name, word=name.replace("_", "-"), typed=True, alone=True, gnu=False, **fields)


def _list_words(data: bytes, _key: object) -> bytes:
    """The parameters of kind_list in kernels/typed_keys.cuh. Raises ValueError, whose second argument is a line."""
    ranks: dict[bytes, tuple[int, int]] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        value = line.strip(b" \t\r")
        if value in ranks:
            shown = value.decode("utf-8", "replace")
            raise ValueError(f"{shown!r} is in line {ranks[value][1]}, too", number)
        if value:
            ranks[value] = len(ranks), number
    if not ranks:
        raise ValueError("it lists no value")
    words, texts = array("q", [len(ranks)]), bytearray()
    begin = 1 + 3 * len(ranks)
    for value in sorted(ranks):
        words.extend((begin + len(texts) // WORD_BYTES, len(value), ranks[value][0]))
        texts += value + bytes(-len(value) % WORD_BYTES)
    return words.tobytes() + bytes(texts) + bytes(TEXT_PADDING)


_DIGITS = rb"\s*-?\.?[0-9]"
_GENERAL = rb"(?i)\s*[+-]?(\.?[0-9]|inf|nan)"
_MONTHS = rb"(?i)\s*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
KINDS = (
    KeyKind("bytes"),
    KeyKind("numeric", "n", "numeric", begins=_DIGITS, alone=True, separated=True),
    KeyKind("human", "h", "human-numeric", begins=_DIGITS, alone=True, separated=True),
    KeyKind("general", "g", "general-numeric", begins=_GENERAL, alone=True, separated=True),
    KeyKind(
        "month",
        "M",
        "month",
        begins=_MONTHS,
        alone=True,
        noun="month",
    ),
    KeyKind(
        "random", "R", "random", joins=False, file_option="random-source", draws=SALT_BYTES, default=bytes(SALT_BYTES)
    ),
    KeyKind("version", "V", "version"),
    KeyKind(LOCALE_KIND, gpu=False, gnu=False),
    _typed("hex", noun="hexadecimal number"),
    _typed("length", blanks=True, nulls=""),
    _typed("bytes_length", blanks=True, nulls=""),
    _typed("size", noun="size"),
    _typed("duration", noun="duration"),
    _typed("address", noun="address"),
    _typed("list", noun="value", file_option="order-list", words=_list_words, default=bytes(WORD_BYTES)),
    _typed("time", noun="time", timed=True, default=bytes(TIME_WORDS * WORD_BYTES)),
    _typed(
        "log_time",
        noun="text with a time",
        fault="has no time in it",
        flag="time",
        timed=True,
        default=bytes(TIME_WORDS * WORD_BYTES),
    ),
)
"""All kinds. The place of one is its number in compiled code. If a key has the letters of several, the first counts."""
BY_FLAG = {kind.flag: kind for kind in KINDS if kind.flag}
"""The kinds that have a flag, by it."""
CHOSEN_KINDS = tuple(kind.name for kind in KINDS if kind.name != LOCALE_KIND)
"""The kinds that a key may have: all but LOCALE_KIND."""
KIND_OF = {kind.name: kind for kind in KINDS}
NUMBER_OF = {kind.name: number for number, kind in enumerate(KINDS)}
LETTERS = "".join(sorted("bdfir" + "".join(kind.letter for kind in KINDS), key=lambda letter: (letter.lower(), letter)))
"""The letters of the options for keys: those of kinds, and those that any kind takes."""
TYPED_WORDS = tuple(sorted(kind.word for kind in KINDS if kind.typed))
"""The words of typed kinds."""
_NOT_IN_JOINS = {"b", "i"} | {kind.letter for kind in KINDS if not kind.joins}
JOIN_LETTERS = "".join(letter for letter in LETTERS if letter not in _NOT_IN_JOINS)
"""The letters that a join's keys take."""
