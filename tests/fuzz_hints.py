"""Follow every hint of `merge` blindly: the result must be sorted and complete, as its files mean it.

The files are in an order that people use: of words, numbers, sizes, versions, addresses, or of dates in many forms.
They may have a header, quotes, a byte order mark, carriage returns, or units of two bytes. The command line names
another order, or none. Run it as `python -m tests.fuzz_hints --cases 2000`.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import random
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpumerge_cli.cli import app

Value = tuple[Any, str]
"""A key as it compares for people, and its text."""
Maker = Callable[[random.Random], Value]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_START = datetime.datetime(2019, 11, 3, 7, 9, 5)


def _word(rng: random.Random, letters: str = _LETTERS) -> str:
    return "".join(rng.choice(letters) for _ in range(rng.randrange(1, 8)))


def _words(rng: random.Random) -> Value:
    text = _word(rng)
    return text.encode(), text


def _names(rng: random.Random) -> Value:
    text = _word(rng, "abcABCéÉßz")
    return text.encode(), text


def _mixed_case(rng: random.Random) -> Value:
    text = _word(rng, "abcdeABCDE")
    return text.upper(), text


def _dictionary(rng: random.Random) -> Value:
    text = _word(rng, "abcde-._'")
    return "".join(letter for letter in text if letter.isalnum()), text


def _whole(rng: random.Random) -> Value:
    number = rng.randrange(10 ** rng.randrange(1, 6))
    return number, str(number)


def _signed(rng: random.Random) -> Value:
    number = rng.randrange(-(10 ** rng.randrange(1, 4)), 10 ** rng.randrange(1, 4))
    return number, str(number)


def _padded(rng: random.Random) -> Value:
    number = rng.randrange(1000)
    return number, f"{number:>5}"


def _fraction(rng: random.Random) -> Value:
    number = rng.randrange(-2000, 20000)
    return number, f"{number / 100:.{rng.choice((2, 2, 3))}f}"


def _scientific(rng: random.Random) -> Value:
    digits, power = rng.randrange(10, 99), rng.randrange(-3, 9)
    text = f"{digits / 10}e{power:+d}"
    return float(text), text


def _german(rng: random.Random) -> Value:
    number = rng.randrange(20000)
    return number, f"{number // 100},{number % 100:02d}"


def _thousands(rng: random.Random) -> Value:
    number = rng.randrange(10 ** rng.randrange(2, 8))
    return number, f"{number:,}"


def _money(rng: random.Random) -> Value:
    number = rng.randrange(3000)
    return number, f"${number}.00"


def _percent(rng: random.Random) -> Value:
    number = rng.randrange(101)
    return number, f"{number}%"


def _hexadecimal(rng: random.Random) -> Value:
    number = rng.randrange(1 << rng.randrange(4, 17))
    return number, f"{number:x}" if rng.random() < 0.5 else f"0x{number:x}"


def _human(rng: random.Random) -> Value:
    number, power = rng.randrange(1, 1000), rng.randrange(4)
    return (power, number), f"{number}{'KMGT'[power]}"


def _bytes_said(rng: random.Random) -> Value:
    number, power = rng.randrange(1, 1000), rng.randrange(3)
    return number * 1000**power, f"{number} {('B', 'kB', 'MB')[power]}"


def _version(rng: random.Random) -> Value:
    parts = [rng.randrange(20) for _ in range(rng.choice((2, 3)))]
    return parts, rng.choice(("", "v")) * 0 + ".".join(map(str, parts))


def _named_version(rng: random.Random) -> Value:
    parts = [rng.randrange(30) for _ in range(3)]
    return parts, f"v{parts[0]}.{parts[1]}.{parts[2]}"


def _release(rng: random.Random) -> Value:
    """Semantic versions: a release comes behind its candidates."""
    major, minor, candidate = rng.randrange(4), rng.randrange(12), rng.randrange(4)
    return (major, minor, candidate or 99), f"{major}.{minor}.0" + (f"-rc{candidate}" if candidate else "")


def _numbered(rng: random.Random) -> Value:
    number = rng.randrange(300)
    return number, f"node{number}"


def _chromosome(rng: random.Random) -> Value:
    number = rng.randrange(1, 25)
    return number, f"chr{number if number < 23 else 'XY'[number - 23]}"


def _rotated(rng: random.Random) -> Value:
    """Older logs first."""
    number = rng.randrange(40)
    return -number, f"app.log.{number}" if number else "app.log"


def _ordinal(rng: random.Random) -> Value:
    number = rng.randrange(1, 40)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number // 10 != 1 else "th"
    return number, f"{number}{ending}"


def _address(rng: random.Random) -> Value:
    parts = [rng.choice((9, 10, 100, 192)), *(rng.randrange(256) for _ in range(3))]
    return parts, ".".join(map(str, parts))


def _network(rng: random.Random) -> Value:
    parts, size = [rng.randrange(9, 12), rng.randrange(256), 0, 0], rng.randrange(8, 33)
    return (parts, size), f"{'.'.join(map(str, parts))}/{size}"


def _place(rng: random.Random) -> Value:
    x, y = rng.randrange(20), rng.randrange(20)
    return (x, y), f"{x}:{y}"


def _duration(rng: random.Random) -> Value:
    seconds = rng.randrange(9000)
    if rng.random() < 0.5:
        return seconds, f"{seconds // 60}m{seconds % 60}s"
    return seconds, f"{seconds}s" if seconds < 100 else f"{seconds // 60}m{seconds % 60}s"


def _clock(rng: random.Random) -> Value:
    minutes = rng.randrange(1440)
    hour = minutes // 60
    return minutes, f"{(hour - 1) % 12 + 1}:{minutes % 60:02d} {'AM' if hour < 12 else 'PM'}"


def _elapsed(rng: random.Random) -> Value:
    seconds = rng.randrange(9000)
    return seconds, f"{seconds // 60}:{seconds % 60:02d}"


def _month(rng: random.Random) -> Value:
    number = rng.randrange(12)
    return number, datetime.date(2000, number + 1, 1).strftime(rng.choice(("%b", "%b", "%B"))).upper()


def _day(rng: random.Random) -> Value:
    number = rng.randrange(7)
    return number, ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[number]


def _quarter(rng: random.Random) -> Value:
    year, quarter = rng.randrange(2019, 2024), rng.randrange(1, 5)
    return (year, quarter), f"Q{quarter} {year}"


def _week(rng: random.Random) -> Value:
    year, week = rng.randrange(2019, 2024), rng.randrange(1, 53)
    return (year, week), f"{year}-W{week}"


def _epoch(rng: random.Random) -> Value:
    moment = rng.randrange(10**12, 1_700_000_000_000)
    return moment, f"{moment / 1000:.{rng.randrange(1, 4)}f}" if rng.random() < 0.5 else f"{moment / 1000:.3f}"


DATES = (
    "%Y-%m-%d", "%Y-%-m-%-d", "%Y/%m/%d", "%Y%m%d", "%y-%m-%d", "%y%m%d", "%d/%m/%Y", "%-d/%-m/%Y", "%m/%d/%Y",
    "%-m/%-d/%y", "%d.%m.%Y", "%-d.%-m.%y", "%d-%b-%Y", "%-d %B %Y", "%d %b", "%b %d", "%b %-d, %Y", "%B %Y", "%b-%y",
    "%m-%Y", "%m/%y", "%Y-%j", "%b %e %H:%M:%S", "%a %b %e %H:%M:%S %Y", "%d/%b/%Y:%H:%M:%S +0000",
    "[%d/%b/%Y:%H:%M:%S]", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y%m%dT%H%M%S", "%Y%m%d%H%M",
    "%m/%d/%Y %I:%M %p", "%H:%M %d.%m.", "%s", "%Y.%m.%d", "%-d.%-m.%Y", "%d%b%Y", "%d%m%Y", "%m%d%Y",
)  # fmt: skip


def _date(rng: random.Random) -> Maker:
    """One form of dates; what it leaves out is the same in all of them."""
    form, span = rng.choice(DATES), rng.choice((20, 200, 3000))

    def one(rng: random.Random) -> Value:
        moment = _START + datetime.timedelta(days=rng.randrange(span), seconds=rng.randrange(86400))
        if "%Y" not in form and "%y" not in form and form != "%s":
            moment = moment.replace(year=2020, day=min(28, moment.day))
        told = moment.strftime(form)
        units = [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second]
        if "j" in form or "d" in form or "e" in form:
            known = units if "H" in form or "I" in form else units[:3]
        else:
            known = units if form == "%s" else units[:2]
        if "%M" in form and "%S" not in form:
            known = known[:5]
        return known, told

    return one


MAKERS: dict[str, Callable[[random.Random], Maker]] = {
    **{
        maker.__name__.strip("_"): (lambda rng, maker=maker: maker)
        for maker in (
            _words, _names, _mixed_case, _dictionary, _whole, _signed, _padded, _fraction, _scientific, _german,
            _thousands, _money, _percent, _hexadecimal, _human, _bytes_said, _version, _named_version, _release,
            _numbered, _chromosome, _rotated, _ordinal, _address, _network, _place, _duration, _clock, _elapsed, _month,
            _day, _quarter, _week, _epoch,
        )
    },
    "date": _date,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Files in an order that people use.

    files: their bytes, by name. rows: the key and the line of each item of each file, in order. header: the first line.
    options: of the user. what: in words.
    """

    files: dict[str, bytes]
    rows: list[list[tuple[Any, bytes]]]
    header: bytes
    options: list[str]
    what: str
    encoding: str


def case_of(rng: random.Random) -> Case:
    kind = rng.choice([*MAKERS, *["date"] * 6])
    maker = MAKERS[kind](rng)
    delimiter = rng.choice(("", "", "", "\t", ",", ";", " ", "   ", "|"))
    column = rng.randrange(3) if delimiter else 0
    quoted = delimiter in (",", ";") and rng.random() < 0.3
    descending = rng.random() < 0.25
    most = rng.choice((3, 6, 12, 40))
    distinct = rng.random() < 0.5
    rows = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        values = [maker(rng) for _ in range(rng.randrange(1, most + 1))]
        if distinct:
            values = list({text: (key, text) for key, text in values}.values())
        values.sort(key=lambda value: value[0], reverse=descending)
        rows.append([(key, _row(rng, text, delimiter, column, quoted=quoted)) for key, text in values])
    words = [_word(rng) for _ in range(3 if delimiter else 1)]
    names = [word + str(len(word)) * (word[0] in "aeiou") for word in words]  # digits, as in addr1
    headed = rng.random() < (0.5 if delimiter else 0.1)
    header = (delimiter or " ").join(names).encode() if headed else b""
    end = b"\r\n" if rng.random() < 0.15 else b"\n"
    suffix = {",": rng.choice(("csv", "csv", "txt")), ";": "csv", "\t": rng.choice(("tsv", "txt"))}.get(
        delimiter, "txt"
    )
    mark, encoding = b"\xef\xbb\xbf" * (rng.random() < 0.1), rng.choice(["utf-8"] * 12 + ["utf-16"])
    files = {}
    for number, lines in enumerate(rows):
        data = b"".join(line + end for line in [*([header] if headed else []), *(line for _, line in lines)])
        if rng.random() < 0.1:
            data = data.removesuffix(end)
        files[f"{number}.{suffix}"] = mark + data if encoding == "utf-8" else data.decode().encode(encoding)
    what = f"{kind}{' descending' * descending}, {column + 1} of {delimiter!r}{', header' * headed}"
    rows = [[(key, line + end.removesuffix(b"\n")) for key, line in lines] for lines in rows]
    return Case(files, rows, header, _options(rng, delimiter, column, names, headed), what, encoding)


def _row(rng: random.Random, text: str, delimiter: str, column: int, *, quoted: bool) -> bytes:
    """A line whose column `column` is `text`."""
    if not delimiter:
        return text.encode()
    cells = [_word(rng) if rng.random() < 0.5 else str(rng.randrange(100)) for _ in range(3)]
    cells[column] = text
    if quoted or delimiter in text:
        cells = [f'"{cell}"' if quoted or delimiter in cell else cell for cell in cells]
    return delimiter.join(cells).encode()


def _options(rng: random.Random, delimiter: str, column: int, names: list[str], headed: bool) -> list[str]:
    """The options of a user, who may not know the order. A key is that by which the lines are in order."""
    letters = rng.choice(["", "", "", "", "n", "r", "nr", "V", "M", "h", "g", "f", "d"])
    if rng.random() < 0.6 or (not delimiter and rng.random() < 0.7):
        return [f"-{letter}" for letter in letters]
    separator = [] if delimiter in ("", " ", "   ") else ["-t", {"\t": r"\t"}.get(delimiter, delimiter)]
    if headed and delimiter and rng.random() < 0.5 and len(set(names)) == len(names):
        separator = [] if delimiter == "," else ["-t", r"\t" if delimiter == "\t" else delimiter[0]]
        return [*separator, "--field", names[column] + (f":{letters}" if letters else "")]
    header = ["--header", "1"] if headed and rng.random() < 0.7 else []
    return [*separator, *header, "-k", f"{column + 1},{column + 1}{letters}"]


def hint_of(message: str, options: list[str]) -> list[str] | None:
    """The options of the user as an error proposes them; None if it proposes none."""
    field = re.search(r"use --field ([^ ]+)((?: -t (?:'[^']*'|\S+))?)$", message)
    if field and field[1] != "NAME":
        return [*options, "--field", field[1], *shlex.split(field[2].replace(r"'\t'", r"'\t'"))]
    key = re.search(r"order of (-k|--field) (\S+): use that for (-k|--field) (\S+)$", message)
    if key:
        at = max(number for number, option in enumerate(options) if option == key[3])
        return [*options[:at], key[1], key[2], *options[at + 2 :]]
    found = re.search(r" order: ((?:add|leave) .*)$", message)
    if not found:
        return None
    left = set(re.findall(r"leave (-\w) out", found[1]))
    return [option for option in options if option not in left] + re.findall(r"add (-\w)", found[1])


def merged(folder: Path, names: list[str], options: list[str]) -> tuple[int, bytes, str]:
    """The exit code, the output and the error lines of a merge."""
    out, told = folder / "out", io.StringIO()
    out.unlink(missing_ok=True)
    with contextlib.redirect_stderr(told):
        code = app.invoke(["merge", "-q", "--backend", "cpu", *options, *names, "-o", str(out)])
    return code, out.read_bytes() if out.exists() else b"", told.getvalue().strip()


@dataclass
class Tally:
    """The hints that were followed."""

    followed: int = 0


def misled(seed: int, tally: Tally | None = None) -> str:
    """What is wrong with the result of following a hint of the case `seed`, "" if nothing is."""
    case = case_of(random.Random(seed))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        names = [str(folder / name) for name in case.files]
        for name, data in zip(names, case.files.values(), strict=True):
            Path(name).write_bytes(data)
        code, data, message = merged(folder, names, case.options)
        told = message.splitlines()[-1].removeprefix(f"gpumerge: {made}/") if message else ""
        shown = f"seed {seed}, {case.what}, {' '.join(case.options)}: {told}"
        if code not in (0, 2):
            return f"exit code {code}: {shown}"
        if case.encoding != "utf-8":
            return "" if code == 2 and "UTF-16" in message else f"UTF-16 is not named: {shown}"
        if "if line 1 is a header" in message and not case.header:
            return ""
        if "line 1 is a header" in message and not case.header:
            return f"no header: {shown}"
        if "byte order mark" in message and not next(iter(case.files.values())).startswith(b"\xef\xbb\xbf"):
            return f"no mark: {shown}"
        hint = hint_of(message, case.options) if code else None
        if hint is None:
            return ""
        if tally is not None:
            tally.followed += 1
        code, data, message = merged(folder, names, hint)
        return fault_of(case, code, data, f"{shown} -> {' '.join(hint)}: {message.splitlines()[-1:]} {data[:400]!r}")


def fault_of(case: Case, code: int, data: bytes, shown: str) -> str:
    """What is wrong with a merge of a case by the options of a hint."""
    if code:
        return f"refused: {shown}"
    keys = {line.rstrip(b"\r"): key for rows in case.rows for key, line in rows}
    lines = [line.rstrip(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]]
    if case.header:
        if lines[:1] != [case.header]:
            return f"the header has moved: {shown}"
        lines = lines[1:]
    if Counter(lines) != Counter(line.rstrip(b"\r") for rows in case.rows for _, line in rows):
        return f"incomplete: {shown}"
    found = [keys[line] for line in lines]
    wanted = sorted(found, reverse=" descending" in case.what)
    return "" if found == wanted else f"not sorted: {shown}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    tally = Tally()
    wrong = []
    for seed in range(options.seed, options.seed + options.cases):
        told = misled(seed, tally)
        if told:
            print(told, flush=True)
            wrong.append(told)
    print(f"{options.cases} cases, {tally.followed} hints followed, {len(wrong)} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
