"""Random values of JSON, and random spellings of them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

_CHARACTERS = 'ab\0\1\2\3\t\n\r "\\/\x7f\x80é\u07ff\u0800\ud7ff\ud800\udbff\udc00\udfff\ue000\uffff\U00010000\U0010ffff'


class Spelled(Decimal):
    """A number with its spelling."""

    text: str


def any_number(draw: random.Random) -> str:
    """A number as JSON has it, often one that equals another one or nearly does."""
    digits = draw.choice(["0", "1", "10", "12", "100", str(draw.randrange(10 ** draw.randrange(1, 25)))])
    fraction = draw.choice(["", "", ".0", ".5", ".50", f".{draw.randrange(10 ** draw.randrange(1, 12))}", ".000001"])
    power = draw.choice([0, 1, 2, 3, 39, 40, 41, 77, 78, 79, 400, draw.randrange(100_000)])
    exponent = draw.choice(
        ["", "", f"{draw.choice('eE')}{draw.choice(['', '+', '-'])}{draw.choice(['', '00'])}{power}"]
    )
    return draw.choice(["", "-"]) + digits + fraction + exponent


def any_string(draw: random.Random) -> str:
    """A text of few characters, surrogates alone among them."""
    text = "".join(draw.choice(_CHARACTERS) for _ in range(draw.choice([0, 1, 1, 2, 3, 40])))
    return json.loads(json.dumps(text))  # type: ignore[no-any-return]  # which joins surrogates


def number_value(text: str) -> Spelled:
    """The number of a text, which it keeps."""
    found = Spelled(text)
    found.text = text
    return found


def any_value(draw: random.Random, depth: int, names: Sequence[str]) -> Any:
    """A value whose objects have members of these names."""
    choice = draw.randrange(10 if depth else 6)
    if choice < 2:
        return number_value(any_number(draw))
    if choice < 4:
        return any_string(draw)
    if choice < 6:
        return draw.choice([None, True, False])
    if choice < 7:
        return [any_value(draw, depth - 1, names) for _ in range(draw.randrange(4))]
    return {name: any_value(draw, depth - 1, names) for name in draw.choices(names, k=draw.randrange(5))}


def spelled(draw: random.Random, value: Any) -> str:
    """A value as JSON, with blanks and escapes at random places, and members that later ones replace."""
    blank = lambda: draw.choice(["", "", " ", "\t", " \r "])  # noqa: E731
    if isinstance(value, Spelled):
        return value.text
    if isinstance(value, str):
        return f'"{"".join(_character(draw, one) for one in value)}"'
    if isinstance(value, list):
        return f"[{blank()}{','.join(blank() + spelled(draw, one) + blank() for one in value)}]"
    if isinstance(value, dict):
        members = [*value.items()]
        if members and draw.random() < 0.3:
            members.insert(0, (draw.choice(members)[0], draw.choice([{"a": 1, "b": [1]}, 1, "x"])))
        text = ",".join(
            f"{blank()}{spelled(draw, name)}{blank()}:{blank()}{spelled(draw, one)}" for name, one in members
        )
        return f"{{{blank()}{text}{blank()}}}"
    return json.dumps(value)


def _character(draw: random.Random, one: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if one in short and (one == '"' or draw.random() < 0.5):
        return short[one]
    if one == "\\" or one < " " or "\ud800" <= one <= "\udfff" or draw.random() < 0.3:
        units = one.encode("utf-16-be", "surrogatepass")
        escapes = (f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
        return "".join(escape.upper().replace("\\U", "\\u") if draw.random() < 0.5 else escape for escape in escapes)
    return one
