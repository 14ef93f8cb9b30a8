"""The options about the output, reports and progress."""

from __future__ import annotations

from gpumerge_cli.cli.options.model import COMBINING, Needs, NotWith, Option
from gpumerge_cli.formats.codecs import COLUMN_COMPRESSIONS, COMPRESSIONS
from gpumerge_cli.order.equals import SETS

_FILES = ("merge", *COMBINING, "join", "sort", "check")
_OF_ALL = NotWith(
    ("unique", "only", "count", "count-to", "plan", "compare"),
    "{other} needs the whole merge, so it cannot be combined with {option}",
    "leave one of them out",
)
_OF_SORTS = (
    NotWith(("merge",), way_out="use gpumerge merge {option}"),
    NotWith(("check", "check-quiet"), "{other}: a check writes nothing", "leave {option} out"),
    NotWith(
        ("only", "count", "count-to", "sum", "counted", "compare"),
        "{other} needs the whole sort, so it cannot be combined with {option}",
        "leave one of them out",
    ),
    NotWith(("cluster",), "{option} is for this machine", "leave --cluster out", settings=False),
)
_OF_RANGE = NotWith(
    ("head", "tail", "plan", "compare"),
    "{option} and {other} cannot be combined",
    "leave one of them out",
)
_RANGE = Needs(
    ("range",), "{option} is for the items of --range", "add --range, or leave {option} out", settings=False,
)  # fmt: skip
_SUMS = tuple(
    (
        command,
        more,
        (
            NotWith(("count", "count-to"), "{option} and {other} cannot be combined", "use one of the two"),
            NotWith(
                ("null-values",),
                "{other} is for keys, and {option} reads numbers",
                "leave {other} out, or write the numbers again",
            ),
            NotWith(others, "{option} writes one item for several equal ones, so it cannot be combined with {other}"),
        ),
    )
    for command, more, others in (
        ("merge", "", ("only", "source", "parts", "head", "tail", "plan", "compare")),
        (
            "sort",
            " With -m, disorder is an error.",
            ("only", "keep-order", "source", "parts", "head", "tail", "compare", "check", "check-quiet", "debug"),
        ),
    )
)
"""For each command with sums over equal items: its name, the end of the help, and conflicts."""
_COMPRESSIONS = (*COMPRESSIONS, *(one for one in COLUMN_COMPRESSIONS if one not in COMPRESSIONS))
_OF_COLUMNS = (
    f"Columns of tables are compressed by {', '.join(COLUMN_COMPRESSIONS[:-1])} or {COLUMN_COMPRESSIONS[-1]}; by "
    "default, as in the first input."
)

OUTPUT = (
    Option(
        "output", "Output", ("merge", *COMBINING, "sort"),
        "Write the output to FILE, by default to standard output. FILE may be an input. It appears whole or not "
        "at all.",
        brief="Write to FILE, whole or not at all.",
        letter="o", kind="file", written=True, gnu=True,
    ),
    Option(
        "output", "Output", ("rank",),
        "Write the answers, or the items of --range, to FILE, by default to standard output. It appears whole or not "
        "at all.",
        brief="Write to FILE, whole or not at all.",
        letter="o", kind="file", written=True, gnu=True,
    ),
    Option(
        "output", "Output", ("join",),
        "Write the output to FILE, by default to standard output. FILE may be an input. It appears whole or not "
        "at all.",
        brief="Write to FILE, whole or not at all.",
        kind="file", written=True, gnu=True,
    ),
    Option(
        "output", "Output", ("bench",),
        "Write the results: .json, .csv, .md or .html; may be given more than once. A table on standard output if "
        "neither this nor --figures is given.",
        letter="o", kind="file", written=True, multiple=True, gnu=True, shared=False,
    ),
    Option(
        "output", "Output", ("path",),
        "Draw a figure, .svg or .png, instead of in the terminal. Needs gpumerge[plot].",
        letter="o", kind="file", written=True, gnu=True, shared=False,
        brief="Draw a figure, .svg or .png.",
    ),
    Option(
        "html", "Output", ("path",),
        "Write a page for a browser instead: drag the cut, choose launches, and see what memory does. It is one file "
        "that fetches nothing. Without inputs it shows the textbook's example.",
        kind="file", written=True, settable=False,
        brief="Write a page for a browser, to drag and try.",
        not_with=(NotWith(("output", "rounds"), "{option} shows the path and the rounds"),),
    ),
    Option(
        "figures", "Output", ("bench",),
        "Draw figures, PNG and SVG, in this folder. Needs gpumerge[plot].",
        kind="folder", written=True,
    ),
    Option(
        "head", "Output", ("merge",),
        "Write only the first N items of the merge: 10, 1e6 or 2^20. Little more than these items is read, and only "
        "the items that are read are checked for order.",
        brief="Write only the first N items.",
        kind="count", settable=False,
        not_with=(
            NotWith(
                ("tail",), "{option} and {other} are both given", "use one of them, or gpumerge rank --range A:B",
            ),
            _OF_ALL,
        ),
    ),
    Option(
        "tail", "Output", ("merge",),
        "Write only the last N items of the merge; see --head.",
        kind="count", settable=False, not_with=(_OF_ALL,),
    ),
    Option(
        "head", "Output", ("sort",),
        "Write only the first N items of the sort: 10, 1e6 or 2^20. The others are left out as they are read, so this "
        "takes far less time than the sort; with --unique, N items that differ.",
        brief="Write only the first N items.",
        kind="count", settable=False,
        not_with=(
            NotWith(("tail",), "{option} and {other} are both given", "use one of them"),
            *_OF_SORTS,
        ),
    ),
    Option(
        "tail", "Output", ("sort",),
        "Write only the last N items of the sort; see --head.",
        kind="count", settable=False, not_with=_OF_SORTS,
    ),
    Option(
        "from", "Output", ("merge", *SETS),
        "Write only items from KEY on, in the order of the merge, also items with this key. Write KEY in the form that "
        "gpumerge rank shows. If there are several keys, the first ones are enough. A search in each file finds them, "
        "and only the items that are written are read and checked for order.",
        kind="text", placeholder="KEY", settable=False, not_with=(_OF_RANGE,),
    ),
    Option(
        "to", "Output", ("merge", *SETS),
        "Write only items that come before KEY, so no items with this key; see --from.",
        kind="text", placeholder="KEY", settable=False, not_with=(_OF_RANGE,),
    ),
    Option(
        "parts", "Output", ("merge", *SETS, "sort"),
        "Write the output as N files with consecutive ranges of it. They appear at the end, all or none, unless the "
        "program is killed in that moment. Parts are equal in size to within one item or line; sizes differ more if "
        "equal items are left out. {part} in the name of -o stands for the number, from 0: with -o 'out.{part}.txt', "
        "12 parts are out.00.txt to out.11.txt.",
        kind="number", least=1, settable=False,
    ),
    Option(
        "count", "Output", ("merge", *SETS),
        "Write equal lines once, with their number. The number stands before the line as in uniq -c, or with "
        "--count=after at its end, after a tab. In CSV it is the first field, or the last one, and count in the "
        "header. In JSON Lines it is the first member of each object, or the last one; in tables the last column.",
        kind="text", choices=("ahead", "after"), value_is_optional=True,
    ),
    Option(
        "count", "Output", ("sort",),
        "Write equal lines once, with their number. The number stands before the line as in uniq -c, or with "
        "--count=after at its end, after a tab. In CSV it is the first field, or the last one, and count in the "
        "header. In JSON Lines it is the first member of each object, or the last one; in tables the last column. "
        "Lines are equal if all their bytes are; with -u or -s, if their keys are. With -m, disorder is an error.",
        kind="text", choices=("ahead", "after"), value_is_optional=True,
    ),
    Option(
        "count-to", "Output", ("merge", *SETS, "sort"),
        "Write equal items once, and write to FILE how often each occurs, in the same order. For lines, numbers and "
        "records. Numbers are little-endian uint64, raw or in a .npy file as the suffix of FILE says. Output and FILE "
        "appear together or not at all.",
        kind="file", written=True, settable=False,
        not_with=(
            NotWith(("count",), "{other} and {option} put the numbers in two places", "use one of the two"),
            NotWith(("parts",), "{option} writes the counts of one output", "leave {other} out"),
        ),
    ),
    *(
        Option(
            "sum", "Output", (command,),
            "Write the first of several equal items, with the sum of their values in COLUMN: the name or the number of "
            "a field of CSV, the number of a field of lines, a path in JSON Lines, a field of records, or a column of "
            "a table. May be given again, or with commas between columns. Implies -u; with --unique=last, the last "
            f"item is written. Sums are exact, and those that do not fit a column are errors.{more}",
            kind="text", placeholder="COLUMN", multiple=True, settable=False, not_with=conflicts,
        )
        for command, more, conflicts in _SUMS
    ),
    *(
        Option(
            "counted", "Output", (command,),
            "Each line begins with a count, as uniq -c writes it. Lines are compared by the text after the count. "
            f"Write equal lines once, with the sum of their counts in the same form. Implies -u.{more}",
            settable=False,
            not_with=(
                NotWith(("sum",), "{option} sums the counts of lines, and {other} columns", "use one of the two"),
                *conflicts,
            ),
        )
        for command, more, conflicts in _SUMS
    ),
    *(
        Option(
            "source", "Output", commands,
            "Begin each line with the name of its file, as it was given, and a tab. In CSV the name is the first "
            "field, in tables the first column, in JSON Lines the first member of each object. It is called source or "
            f"NAME; lines without a header refuse NAME. Keys number the fields without it.{more}",
            kind="text", placeholder="NAME", value_is_optional=True, bare="source", settable=False,
            not_with=(NotWith(others, "{other} writes no items, and {option} writes names beside items"),),
        )
        for commands, others, more in (
            (("merge", *SETS, "compare"), ("plan", "compare"), ""),
            (("sort",), ("compare",), " With -m, disorder is an error."),
        )
    ),
    Option(
        "without-first", "Output", ("compare",), "Leave out the lines that only the first file holds.", letter="1",
        project=True,
    ),
    Option(
        "without-second", "Output", ("compare",), "Leave out the lines that only the second file holds.", letter="2",
        project=True,
    ),
    Option(
        "without-both", "Output", ("compare",), "Leave out the lines that both files hold.", letter="3", project=True,
    ),
    Option(
        "output-delimiter", "Output", ("compare",),
        "The text between columns of lines; by default a tab.",
        kind="text", default="\\t", gnu=True, project=True,
    ),
    Option(
        "total", "Output", ("compare",),
        "Write a last line that says how many lines each column has. For tables it goes to standard error.",
        gnu=True, project=True,
    ),
    Option(
        "total", "Output", ("diff",),
        "Write only four numbers: how many items were added, removed, changed, and are unchanged.",
        gnu=True, project=True,
        not_with=(NotWith(("output", "changes"), "{option} writes numbers to standard output, and no items"),),
    ),
    Option(
        "ignore", "Output", ("diff",),
        "Do not compare these columns, by their names in the header or by numbers from 1: items that differ only in "
        "them are unchanged. May be given again. For lines, CSV and tables, also for a field of a struct, as a.b.",
        kind="text", placeholder="COLUMNS", multiple=True, project=True,
    ),
    Option(
        "changes", "Output", ("diff",),
        "Write to FILE, as CSV, each column that has changed: the item's key, the name or number of the column, its "
        "old and its new value. For lines, CSV and tables. Output and FILE appear together or not at all.",
        kind="file", written=True, settable=False,
    ),
    Option(
        "multi", "Output", ("diff",),
        "Pair items with equal keys in order: the first of the old file with the first of the new one, and so on. "
        "Items that are left over are removed or added. By default, several items with one key are an error.",
        project=True,
    ),
    Option(
        "sort-inputs", "Input", ("diff",), "Sort both files first, by the same key, as temporary files.", project=True,
    ),
    Option(
        "compression", "Output", ("merge", *COMBINING, "join", "sort"),
        f"Compress the output, whatever its name is; bgzf is what bgzip and tabix read. By default the suffix decides; "
        f".gz is BGZF if all compressed inputs are. {_OF_COLUMNS}",
        kind="text", choices=_COMPRESSIONS, settable=False,
    ),
    Option(
        "compression", "Output", ("rank",),
        f"Compress what --range writes, whatever its name is; bgzf is what bgzip and tabix read. By default the suffix "
        f"decides; .gz is BGZF if all compressed inputs are. {_OF_COLUMNS}",
        kind="text", choices=_COMPRESSIONS, settable=False, needs=_RANGE,
    ),
    *(
        option
        for commands, needs in ((("merge", *COMBINING, "sort", "join"), None), (("rank",), _RANGE))
        for option in (
            Option(
                "compression-level", "Output", commands,
                "The level of the compression of a table's columns: a higher one makes smaller files in more time.",
                kind="number", placeholder="LEVEL", settable=False, needs=needs,
            ),
            Option(
                "row-group-size", "Output", commands,
                "The size of the row groups of a table: a number of rows, as 500000, or bytes of values, as 64M. By "
                "default 128 MiB, but at most 262,144 rows, and less if memory is short.",
                kind="text", placeholder="SIZE", settable=False, needs=needs,
            ),
        )
    ),
    Option(
        "fsync", "Output", ("merge", *COMBINING, "join", "sort", "rank"),
        "Force the output to storage before it is renamed to its name, and the name afterwards.",
        neutral=True,
    ),
    Option(
        "fsync", "Output", ("batch",),
        "Force the outputs of all jobs to storage, as merge --fsync does; fsync = false in a job turns it off.",
    ),
    Option(
        "joblog", "Output", ("batch",),
        "Log every job when it ends, in the columns of GNU parallel, and Bytes, Backend and Kernel. Replaces an "
        "earlier log, unless --resume continues it.",
        kind="file", written=True,
    ),
    Option(
        "report", "Output", ("merge", *SETS, "sort"),
        "Write a report to FILE that says what took the time: .json, .md or .html; with --compare also .csv.",
        kind="file", written=True, neutral=True,
    ),
    Option(
        "report", "Output", ("compare", "diff", "join"),
        "Write a report to FILE that says what took the time: .json, .md or .html.",
        kind="file", written=True, neutral=True,
    ),
    Option(
        "report", "Output", ("rank",),
        "With --range, write a report to FILE that says what took the time: .json, .md or .html.",
        kind="file", written=True, neutral=True, needs=_RANGE,
    ),
    Option(
        "report", "Output", ("batch",),
        "Write a line of JSON to FILE (.jsonl) for every job that ends, or cannot run because another has failed; "
        "--resume continues it.",
        kind="file", written=True, shared=False,
    ),
    Option(
        "progress", "Output", ("merge", *COMBINING, "join", "sort", "rank", "batch"),
        "Show progress on a terminal, or do not.",
        default=True, off="no-progress", neutral=True, project=True,
    ),
    Option(
        "progress", "Output", ("check",), "Show progress on a terminal.", neutral=True, project=True,
    ),
    Option(
        "quiet", "Output", (*_FILES, "rank", "batch", "bench", "path", "learn", "generate", "info"),
        "Print nothing but errors and warnings on standard error.",
        letter="q", neutral=True, project=True,
    ),
    Option(
        "verbose", "Output", ("merge", *COMBINING, "sort"),
        "Print a table on standard error that says what took the time.",
        brief="Show what took the time.",
        letter="v", neutral=True, aliases=("stats",), project=True,
    ),
    Option(
        "verbose", "Output", ("rank",),
        "Print a table on standard error: how many items of each file come before the answers, or with --range, what "
        "took the time.",
        letter="v", neutral=True, aliases=("stats",), project=True,
    ),
    Option(
        "verbose", "Output", ("join",),
        "Print a table on standard error that says what took the time.",
        brief="Show what took the time.",
        neutral=True, aliases=("stats",), project=True,
    ),
    Option(
        "verbose", "Output", ("batch",),
        "Print a table of the slowest jobs on standard error.",
        letter="v", aliases=("stats",), project=True,
    ),
    Option(
        "verbose", "Output", ("bench",),
        "Print the table of results on standard error, also where they go to files.",
        letter="v", aliases=("stats",), project=True,
    ),
    Option(
        "verbose", "Output", ("check",),
        "Print a line for each file on standard error that says what it holds.",
        letter="v", aliases=("stats",), project=True,
    ),
)  # fmt: skip
