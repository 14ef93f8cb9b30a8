"""The options of join alone: its keys, its kind, and what it writes."""

from __future__ import annotations

from gpumerge_cli.cli.options.model import Needs, NotWith, Option
from gpumerge_cli.order.asof import DIRECTIONS
from gpumerge_cli.order.key_kinds import JOIN_LETTERS

_COLUMN = r"(0|[12]\.0*[1-9][0-9]*)"
NUMBERS_OF_COLUMNS = rf"{_COLUMN}([, \t]{_COLUMN})*"
"""The pattern of a list of columns as coreutils' join takes it, but for the word auto."""

_ASOF = Needs(("type",), "{option} is for an as-of join", "add --type asof", settings=False)
_BY_NUMBER = (("key", "-j"), ("key-1", "-1"), ("key-2", "-2"))

JOIN = (
    Option(
        "key", "Input", ("join",),
        "Join by this field of both files, counted from 1; 1 by default. Several fields, as 1,2n, make one key; "
        f"letters from {JOIN_LETTERS} say how a field compares, as in sort's -k, or a kind after a colon, as 1:hex. "
        "With --csv, fields may be named, as city,amount:n. Fields of records and columns of tables are named, as id "
        "or id:r, values of JSON Lines by their paths, as a.b.",
        brief="Join by this field of both files: its number or name.",
        letter="j", kind="text", placeholder="FIELDS", project=True,
    ),
    Option(
        "field", "Input", ("join",),
        "Join by these fields of both files, by name, as city,amount:n: columns of CSV or of tables, values of JSON "
        "Lines, or fields of structured .npy files or of a --dtype with fields. Letters follow a colon, as for -j. "
        "Implies --csv for text, and names imply --header. May be given again, for more fields of one key.",
        brief="Join by these fields, by name, as city,amount:n.",
        kind="text", placeholder="NAMES", multiple=True, aliases=("on",), project=True,
        not_with=tuple(
            NotWith(
                (name,), f"{letter} and {{option}} both name the key", f"leave {letter} or {{option}} out",
                settings=False, yields=True,
            )
            for name, letter in _BY_NUMBER
        ),
    ),
    Option(
        "key-1", "Input", ("join",), "Join by these fields of A.", brief="Join by this field of A.",
        letter="1", kind="text", placeholder="FIELDS", project=True,
    ),
    Option(
        "key-2", "Input", ("join",),
        "Join by these fields of B, as many as of A. Letters given for A apply to B, too.",
        brief="Join by this field of B.",
        letter="2", kind="text", placeholder="FIELDS", project=True,
    ),
    Option(
        "type", "Output", ("join",),
        "Choose what is written. inner, the default: all pairs. left, right, outer: also the items without a partner, "
        "of A, of B or of both. anti: only the items of A without a partner. semi: only the items of A with a partner, "
        "each once. asof: each item of A once, beside the nearest item of B by the last field of the key; earlier "
        "fields must be equal.",
        brief="Which pairs and lines are written.",
        kind="text", choices=("inner", "left", "right", "outer", "anti", "semi", "asof"),
        not_with=(
            NotWith(
                ("unpaired", "only-unpaired"), "{option} and {other} both choose the lines to write",
                "use one of them",
            ),
        ),
    ),
    Option(
        "direction", "Output", ("join",),
        "With --type asof, choose the item of B by its last key. backward, the default: the last one at or before the "
        "key of A. forward: the first one at or after it. nearest: the nearer of these two, backward if they are "
        "equally near.",
        kind="text", choices=DIRECTIONS, needs=_ASOF,
    ),
    Option(
        "tolerance", "Output", ("join",),
        "With --type asof, the greatest distance between last keys: a number for numbers, a duration for times and "
        "durations, as 5m, 2s or 100ms. An item of A without such a near partner is written alone.",
        kind="text", placeholder="DISTANCE", needs=_ASOF,
    ),
    Option(
        "unpaired", "Output", ("join",),
        "Write also the items of this file, 1 or 2, that have no partner. May be given again.",
        letter="a", kind="text", placeholder="FILE", choices=("1", "2"), multiple=True,
    ),
    Option(
        "only-unpaired", "Output", ("join",),
        "Like -a, but write no pairs. May be given again.",
        letter="v", kind="text", placeholder="FILE", choices=("1", "2"), multiple=True,
    ),
    Option(
        "columns", "Output", ("join",),
        "The columns to write, as 0,1.2,2.3: 0 is the key, 1.2 the second field of A. auto, the default for CSV: every "
        "line has as many fields as the first line of each file. Columns of CSV and tables may be named, as "
        "id,town,1.note if both files have a note; names imply --header. May be given again, for more columns.",
        letter="o", kind="text", placeholder="LIST", multiple=True, goes_on=NUMBERS_OF_COLUMNS, project=True,
    ),
    Option(
        "empty", "Output", ("join",),
        "Write TEXT for fields that are empty or missing. For records: the number of the byte, 0 by default, that "
        "missing records are filled with.",
        letter="e", kind="text", placeholder="TEXT", project=True,
    ),
)  # fmt: skip
