"""The options of one or two commands that say what the command does."""

from __future__ import annotations

from gpumerge_cli.backends.ladder import NAMES
from gpumerge_cli.cli.options.model import Option
from gpumerge_cli.order.equals import SETS

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
        "compare", "Actions", SETS,
        "Make the set in memory, and by NumPy if the items are numbers; check each result, then time it. Writes no "
        "output, so it does not go with -o.",
    ),
    Option(
        "compare", "Actions", ("sort",),
        "Run every algorithm beside the library's sorts in memory, check each result, then time it; then sort files.",
    ),
    Option(
        "repeat", "Actions", ("merge", *SETS, "sort"),
        "Times that --compare runs each kernel and library; 5 by default.",
        kind="number", least=1,
    ),
    Option(
        "at", "Actions", ("rank",),
        "Show the items of these ranks, counted from 0: 0 is the first item of the merge. Also show how many items of "
        "each file are ahead of it. The number of all items is a rank, too: the end of the merge. "
        "May be given again.",
        kind="text", placeholder="K,...", multiple=True, settable=False,
    ),
    Option(
        "quantile", "Actions", ("rank",),
        "Show the item at this part of the merge: 0.5 is the median, 0.99 the 99th percentile, 1/3 the end of the "
        "first third; 0 is the first item, 1 the last. May be given again.",
        kind="text", placeholder="Q,...", multiple=True, settable=False,
    ),
    Option(
        "of", "Actions", ("rank",),
        "Show how many items are ahead of ITEM in the merge (lower), how many are ahead or equal (upper), and how many "
        "are equal. No file need hold ITEM. It is a number, a line, a record of CSV or the key of a record, with "
        "commas between several fields. May be given again.",
        kind="text", placeholder="ITEM", multiple=True, settable=False,
    ),
    Option(
        "split", "Actions", ("rank",),
        "Print as JSON where to cut the files for N even parts of the merge. These are the parts that merge --parts N "
        "writes: each has an Nth of the bytes, give or take an item.",
        kind="number", least=1, settable=False,
    ),
    Option(
        "range", "Actions", ("rank",),
        "Write the items with the ranks A to B - 1, in the form in which merge writes them. A or B may be left out: "
        ":10 is the first ten items, and -10: the last ten.",
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
        "Leave out the jobs that --joblog names: those that are done and whose inputs and outputs nobody has changed "
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
        kind="number", placeholder="K", project=True,
    ),
    Option(
        "rounds", "Actions", ("path",),
        "Show the items that the kernel holds in shared memory, round by round, if it works in rounds. With -o, the "
        "figure shows them instead of the path.", project=True,
    ),
    Option(
        "json", "Actions", ("rank",),
        "Print the answers as a JSON object instead of tables; -o NAME.json implies it.", project=True,
    ),
    Option("json", "Actions", ("info",), "Print a JSON object instead of tables.", project=True),
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
