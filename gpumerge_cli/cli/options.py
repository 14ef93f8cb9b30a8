"""The options that commands share, with the help that goes with them, and the words that they take.

Nothing heavy is imported here: `--help` pays for every import.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import typer

from gpumerge_cli.errors import UsageError

FormatName = Literal["raw", "npy", "text"]
BackendName = Literal["auto", "gpu", "cpu"]
Kernel = Literal["auto", "basic", "tiled", "circular", "path"]
TileLoadName = Literal["full", "exact"]
TransferName = Literal["bulk", "vector"]

SUFFIXES = """\b
Suffixes:
  .i8 .i16 .i32 .i64   raw signed integers       .f16 .f32 .f64   raw floats
  .u8 .u16 .u32 .u64   raw unsigned integers     .npy             NumPy, 1-D
  .txt .text .csv .tsv .log .lst, no suffix: text, one item a line
  any other suffix: name the items with --dtype, --record-size or --format"""

SWITCHES = "--no-NAME takes a switch back that a setting has given, as --no-unique."

EXIT_CODES = """\b
Exit codes:
  0    done
  1    disorder found (check only)
  2    anything else wrong; one line on standard error says what and where
  130, 143   stopped by Ctrl-C or SIGTERM; no output file was written
  141  the reader of standard output went away"""

EPILOG = f"{SUFFIXES}\n\n{SWITCHES}\n\n{EXIT_CODES}"

Files = Annotated[list[str] | None, typer.Argument(metavar="FILES", help="Sorted files; - is standard input.")]
Files0From = Annotated[
    str | None,
    typer.Option(
        "--files0-from",
        metavar="FILE",
        show_default=False,
        help="Take the names of the files from FILE, each ended by a NUL byte (find -print0); - is standard input.",
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="NAME",
        show_default=False,
        help="Items of raw files, in NumPy's names: int8 to int64, uint8 to uint64, float16 to float64; "
        ">i4 is big-endian int32. By default from the suffix. With fields, as u4,f8 or [('id','<u4'),('name','S10')]: "
        "records, whose key --key names.",
    ),
]
RecordSize = Annotated[
    int | None,
    typer.Option(
        "--record-size",
        metavar="BYTES",
        min=1,
        show_default=False,
        help="Items are records of so many bytes. Their key is bytes, or of --dtype.",
    ),
]
KeyOffset = Annotated[
    int | None,
    typer.Option(
        "--key-offset",
        metavar="BYTES",
        min=0,
        show_default=False,
        help="Where in a record its key starts; 0 by default.",
    ),
]
KeySize = Annotated[
    int | None,
    typer.Option(
        "--key-size",
        metavar="BYTES",
        min=1,
        show_default=False,
        help="Bytes of the key, compared as unsigned bytes; by default all to the record's end.",
    ),
]
KeyField = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="FIELD",
        show_default=False,
        help="The field of structured .npy files, or of a --dtype with fields, that records are in the order of.",
    ),
]
Format = Annotated[
    FormatName | None,
    typer.Option(
        "--format",
        metavar="raw|npy|text",
        show_default=False,
        help="How the files are laid out. By default from the suffix.",
    ),
]
Numeric = Annotated[
    bool,
    typer.Option(
        "--numeric-sort",
        "-n",
        help="Lines are in the order of their leading numbers, as in sort -n; otherwise bytewise, as in LC_ALL=C sort.",
    ),
]
Reverse = Annotated[bool, typer.Option("--reverse", "-r", help="The order is descending. Ties keep input order.")]
Backend = Annotated[
    BackendName,
    typer.Option("--backend", metavar="auto|gpu|cpu", help="Where to work. auto explains its choice in the report."),
]
Device = Annotated[int, typer.Option("--device", metavar="N", min=0, help="Which GPU, counted from 0.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, show_default=False, help="Host threads; by default all cores."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but what went wrong.")]
Debug = Annotated[bool, typer.Option("--debug", help="On an error, show the traceback too.")]


def off_names(option: Any) -> tuple[str, ...]:
    """What takes a flag of Typer's back: the names that it has for that, --no-NAME if it has none."""
    if option.secondary_opts or not option.is_flag or option.is_eager:
        return tuple(option.secondary_opts)
    return tuple(f"--no-{name[2:]}" for name in option.opts if name.startswith("--"))


def given(context: typer.Context, parameter: str) -> bool:
    """Whether the command line gives the parameter, not a setting or its default: those yield to what is given."""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def names_of(files: list[str] | None, files0_from: str | None) -> tuple[str, ...]:
    """The inputs that the command line names. Raises UsageError if it names none or does so in two ways."""
    if files0_from is None:
        if not files:
            raise UsageError(
                "no file was named", way_out="name at least one, or - for standard input; --help tells more"
            )
        return tuple(files)
    if files:
        raise UsageError(f"{files[0]}: files are named by --files0-from already", way_out="use one of the two")
    from gpumerge_cli.engine.inputs import read_names

    return read_names(files0_from)


def parse_memory(size: str | None, option: str) -> int | None:
    """Bytes that `option` names, None if it was not given. Raises UsageError for what is no size, or none at all."""
    from gpumerge_cli.units import parse_size

    found = None if size is None else parse_size(size, option)
    if found == 0:
        raise UsageError(f"{option} {size}: some is needed", way_out="leave it out, or name a size")
    return found


def parse_words(text: str, option: str) -> tuple[str, ...]:
    """The words of a list with commas between them, without repetition. Raises UsageError if there is none."""
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words:
        raise UsageError(f"{option}: names nothing", way_out="write one or more, with commas between them")
    return words


def parse_counts(text: str, option: str) -> tuple[int, ...]:
    """Counts with commas between them; "2^10:2^20:4" stands for 2^10, 2^12, ..., 2^20, by factors of 4 (2 if not said).

    Raises UsageError, naming `option`, for what is no count, or a range that leads nowhere.
    """
    counts: list[int] = []
    for word in parse_words(text, option):
        first, *others = (parse_count(part, option) for part in word.split(":"))
        if not others:
            counts.append(first)
            continue
        last, factor = others[0], others[1] if len(others) == 2 else 2
        if len(others) > 2 or first < 1 or last < first or factor < 2:
            raise UsageError(f"{option}: {word!r} is no range", way_out="write for example 2^10:2^20:4")
        while first <= last:
            counts.append(first)
            first *= factor
    return tuple(dict.fromkeys(counts))


_COUNT = re.compile(r"(\d+(?:\.\d+)?)(?:e(\d{1,2})|([kmgt]))?|(\d+)\s*(?:\^|\*\*)\s*(\d{1,2})", re.IGNORECASE)
_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def parse_count(text: str, option: str) -> int:
    """Items in `text`: "1500000", "1_500_000", "1e6", "2^28" or "10M" (letters are powers of 1000).

    Raises UsageError, naming `option`, if `text` is no whole number.
    """
    wrong = UsageError(f"{option}: {text!r} is no count", way_out="write for example 1000000, 1e6, 10M or 2^20")
    found = _COUNT.fullmatch(text.strip().replace("_", "").replace(",", ""))
    if found is None:
        raise wrong
    number, exponent, letter, base, power = found.groups()
    if base is not None:
        product: int = int(base) ** int(power)
        return product
    scale: int = 10 ** int(exponent) if exponent else _SCALES[letter.lower()] if letter else 1
    whole, _, fraction = number.partition(".")
    count, rest = divmod(int(whole + fraction) * scale, int(10 ** len(fraction)))
    if rest:
        raise wrong
    return count
