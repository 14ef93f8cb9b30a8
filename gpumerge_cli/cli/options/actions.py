"""The options of one or two commands that say what the command does."""

from __future__ import annotations

from gpumerge_cli.backends.ladder import NAMES
from gpumerge_cli.cli.options.model import Option

ACTIONS = (
    Option("merge", "Actions", ("sort",), "The files are sorted already: merge them.", letter="m", gnu=True),
    Option(
        "check", "Actions", ("sort",),
        "Say where the first disorder is, and exit 1; quiet and silent: without a word.",
        letter="c", kind="text", choices=("diagnose-first", "quiet", "silent"), value_is_optional=True, gnu=True,
    ),
    Option("check-quiet", "Actions", ("sort",), "As --check=quiet.", letter="C"),
    Option(
        "debug", "Actions", ("sort",),
        "Underline the keys in each line, and note on standard error the options that may not do what was meant.",
        gnu=True,
    ),
    Option("plan", "Actions", ("merge",), "Print the plan as JSON on standard output instead of merging."),
    Option(
        "compare", "Actions", ("merge",),
        "Merge in memory by every kernel and by libraries, check each result, then time it. Writes no output, so it "
        "does not go with -o. With --kernel, time only that kernel and basic.",
    ),
    Option(
        "compare", "Actions", ("sort",),
        "Run every algorithm beside the library's sorts in memory, check each result, then time it; then sort files.",
    ),
    Option(
        "repeat", "Actions", ("merge", "sort"),
        "Times that --compare runs each kernel and library; 5 by default.",
        kind="number", least=1,
    ),
    Option(
        "at", "Actions", ("rank",),
        "Show the items of these ranks, counted from 0, and the co-ranks: how many items of each file lie ahead. The "
        "number of all items is a rank, too: that of the end.",
        kind="text", placeholder="K,...", settable=False,
    ),
    Option(
        "quantile", "Actions", ("rank",),
        "The same for the least item that has at least this part of all items at or ahead of it: 0.5,0.99 or 1/3.",
        kind="text", placeholder="Q,...", settable=False,
    ),
    Option(
        "of", "Actions", ("rank",),
        "Show the ranks that ITEM has or would have: lower, the items ahead of it, upper, those and its equals. A "
        "number, a line, a record of CSV or the key of a record, with commas between several fields. May be given "
        "again.",
        kind="text", placeholder="ITEM", multiple=True, settable=False,
    ),
    Option(
        "split", "Actions", ("rank",),
        "Print the cuts of N even parts of the merge as JSON. Each part is an Nth of the bytes, but for an item or a "
        "line, as the parts of merge --parts are.",
        kind="number", least=1, settable=False,
    ),
    Option(
        "range", "Actions", ("rank",),
        "Put out the items whose ranks are A, A + 1, ..., B - 1, as merge puts them out. A or B may be left out, and "
        "-10: are the last ten.",
        kind="text", placeholder="A:B", settable=False,
    ),
    Option("jobs", "Actions", ("batch",), "Jobs that run at a time.", letter="j", kind="number", least=1, default=1),
    Option("keep-going", "Actions", ("batch",), "Start further jobs though one has failed."),
    Option(
        "dry-run", "Actions", ("batch",),
        "Run nothing: print the commands of all jobs, in an order that they can run in.",
    ),
    Option(
        "resume", "Actions", ("batch",),
        "Leave out the jobs that --joblog names: those that are done and whose inputs and outputs nobody has written "
        "since, and those that failed. A job is known by its command.",
    ),
    Option("resume-failed", "Actions", ("batch",), "As --resume, but run failed jobs again."),
    Option(
        "render", "Actions", ("bench",), "Run nothing: make tables and figures from RESULTS. Needs no device.",
    ),
    Option(
        "kernels", "Actions", ("bench",),
        f"Kernels to time, of {', '.join(NAMES)}; all by default. A list has commas.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "dtypes", "Actions", ("bench",),
        "Types of items, as int32,float16; int32+4 is a key with a payload of 4 bytes.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "sizes", "Actions", ("bench",),
        "Items of output in all, rounded down to whole runs: 1e6,2^20; 2^10:2^28:4 goes by factors of 4.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "shapes", "Actions", ("bench",),
        "Shapes of inputs, of uniform, few, equal, disjoint, blocky, one-sided and tiny; shuffled keys are sorted.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "runs", "Actions", ("bench",), "Numbers of runs to merge, as 2,4,8,16.", kind="text", placeholder="LIST",
    ),
    Option("quick", "Actions", ("bench",), "Fewer and smaller cases: about a minute."),
    Option(
        "repeat", "Actions", ("bench",),
        "Times that each is run; 7 by default, 3 with --quick.",
        kind="number", least=1,
    ),
    Option("seed", "Actions", ("bench",), "The same seed makes the same runs.", kind="number", default=0),
    Option(
        "rank", "Actions", ("path",),
        "Show how co-rank finds the cut after K outputs.",
        kind="number", placeholder="K",
    ),
    Option(
        "rounds", "Actions", ("path",),
        "Show the items that the kernel holds in shared memory, round by round, if it works in rounds. With -o, the "
        "figure shows them instead of the path.",
    ),
    Option("json", "Actions", ("rank",), "Print the answers as a JSON object instead of tables."),
    Option("json", "Actions", ("info",), "Print a JSON object instead of tables."),
    Option(
        "measure", "Actions", ("info",),
        "First measure this machine for auto's cost model, and keep the results for later runs. Takes a minute or two, "
        "and up to 4 GB in the folder for temporary files (TMPDIR), whose storage it measures.",
    ),
    Option(
        "config", "Actions", ("info",),
        "Show every setting instead, and its source: a variable, a file's line.",
    ),
)  # fmt: skip
