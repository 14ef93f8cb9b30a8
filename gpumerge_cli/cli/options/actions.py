"""The options of one or two commands that say what the command does."""

from __future__ import annotations

from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.cli.options.model import Needs, NotWith, Option
from gpumerge_cli.order.equals import SETS

_COUNTS = ("count", "count-to")
_ITEMS_OF_COMPARISONS = NotWith(_COUNTS, "{option} counts nothing")
_OUTPUT_OF_COMPARISONS = NotWith(("output",), "{option} writes no output", settings=False)
_NO_PARTS = NotWith(("parts",), "{option} writes no parts")
_THIS_MACHINE = NotWith(("cluster",), "{option} is for this machine", settings=False)
_COUNTS_OF_CHECKS = NotWith((*_COUNTS, "only"), "{other} is only for sorts and merges", "leave {option} out")
_WAY_OUT_OF_CHECKS = "leave {others}, or -c and -C, out"
_ABOUT_CHECKS = (
    NotWith(("report",), "{other}: a check writes no report", _WAY_OUT_OF_CHECKS, settings=False),
    NotWith(("parts",), "{other}: a check writes nothing", _WAY_OUT_OF_CHECKS),
    _COUNTS_OF_CHECKS,
    NotWith(("source",), "{other}: a check writes nothing", _WAY_OUT_OF_CHECKS),
)
_MEASURING = (
    "kernels", "dtypes", "sizes", "shapes", "runs", "repeat", "quick", "seed", "backend", "device", "threads",
)  # fmt: skip
"""Options that mean nothing beside --render."""
_JOBLOG = Needs(("joblog",), "{option}: no log was named", "name it with --joblog")

ACTIONS = (
    Option("merge", "Actions", ("sort",), "The files are sorted already: merge them.", letter="m", gnu=True),
    Option(
        "check", "Actions", ("sort",),
        "Report the first disorder, and exit 1; quiet and silent: print nothing.",
        letter="c", kind="text", choices=("diagnose-first", "quiet", "silent"), value_is_optional=True, gnu=True,
        not_with=(
            NotWith(("output",), "options -co are incompatible", "a check writes nothing: leave -o out"),
            *_ABOUT_CHECKS,
        ),
    ),
    Option(
        "check-quiet", "Actions", ("sort",), "As --check=quiet.", letter="C",
        not_with=(
            NotWith(("output",), "options -Co are incompatible", "a check writes nothing: leave -o out"),
            *_ABOUT_CHECKS,
        ),
    ),
    Option(
        "debug", "Actions", ("sort",),
        "Underline the keys in each line, and warn on standard error about options that may have an unexpected effect.",
        gnu=True,
        not_with=(
            NotWith(
                ("check", "check-quiet", "output", "csv", "field"), "options {other} {option} are incompatible",
                "leave one out",
            ),
            _COUNTS_OF_CHECKS,
        ),
    ),
    Option(
        "plan", "Actions", ("merge",), "Print the plan as JSON on standard output instead of merging.",
        not_with=(
            NotWith(("output", "report", "count-to"), "{option} only plans", settings=False),
            NotWith(("compare",), "{option} only plans"),
            _NO_PARTS,
            _THIS_MACHINE,
        ),
    ),
    Option(
        "compare", "Actions", ("merge",),
        "Merge in memory by every kernel and by libraries, check each result, then time it. Writes no output, so it "
        "cannot be combined with -o. With --kernel, time only that kernel and basic.",
        not_with=(
            NotWith(("unique", "only"), "{option} merges all items"),
            _ITEMS_OF_COMPARISONS,
            _OUTPUT_OF_COMPARISONS,
            _NO_PARTS,
            _THIS_MACHINE,
        ),
    ),
    Option(
        "compare", "Actions", SETS,
        "Make the set in memory, and by NumPy if the items are numbers; check each result, then time it. Writes no "
        "output, so it cannot be combined with -o.",
        not_with=(_ITEMS_OF_COMPARISONS, _OUTPUT_OF_COMPARISONS, _NO_PARTS),
    ),
    Option(
        "compare", "Actions", ("sort",),
        "Run every algorithm and the library's sorts in memory, check each result and time it; then sort files.",
        not_with=(
            NotWith(
                ("output", "parts", *_COUNTS, "merge", "check", "check-quiet", "unique", "only"),
                "{option} sorts and writes no output",
            ),
            _THIS_MACHINE,
        ),
    ),
    Option(
        "compare", "Actions", ("path",),
        "Also merge the inputs in memory by every kernel and by libraries. The page of --html shows the times.",
        settable=False,
        needs=Needs(("html",), "{option}: only a page shows the times", "add --html page.html"),
    ),
    Option(
        "repeat", "Actions", ("merge", *SETS, "sort", "path"),
        "Runs of each kernel and library with --compare; 5 by default.",
        kind="number", least=1,
        needs=Needs(
            ("compare",), "{option} is for comparisons", "add --compare or leave {option} out", settings=False,
        ),
    ),
    Option(
        "at", "Actions", ("rank",),
        "Show the items of these ranks, counted from 0: 0 is the first item of the merge. The number of all items is a "
        "rank, too: the end of the merge. With --stats, also show how many items of each file come before them. May be "
        "given again.",
        kind="text", placeholder="K,...", multiple=True, settable=False,
    ),
    Option(
        "quantile", "Actions", ("rank",),
        "Show the item at this part of the merge: 0.5 is the median, 99% the 99th percentile, 1/3 the end of the first "
        "third; 0 is the first item, 1 the last. May be given again.",
        brief="Show the item there: 0.5 is the median.",
        kind="text", placeholder="Q,...", multiple=True, settable=False,
    ),
    Option(
        "of", "Actions", ("rank",),
        "Show how many items come before KEY in the merge (lower), how many come before it or equal it (upper), and "
        "how many equal it. KEY need not be in a file. It is a number, or the key of a line or record, with commas "
        "between several fields. It is the whole line if there is no key, or with --last-resort. Answers show keys in "
        "the same form. May be given again.",
        brief="Show how many items go before KEY.",
        kind="text", placeholder="KEY", multiple=True, settable=False,
    ),
    Option(
        "of-file", "Actions", ("rank",),
        "The same for many keys: each line of FILE is a KEY. Answers are in the order of the lines. - is standard "
        "input.",
        kind="file", settable=False,
    ),
    Option(
        "split", "Actions", ("rank",),
        "Print as JSON where to cut the files for N even parts of the merge. These are the parts that merge --parts N "
        "writes: equal in size to within one item.",
        kind="number", least=1, settable=False,
    ),
    Option(
        "range", "Actions", ("rank",),
        "Write the items with the ranks A to B - 1, in the form in which merge writes them. A or B may be left out: "
        ":10 is the first ten items, and -10: the last ten.",
        kind="text", placeholder="A:B", settable=False,
        not_with=(
            NotWith(
                ("at", "quantile", "of", "of-file", "split", "json"),
                "{option} writes only items, so it cannot be combined with {other}",
                "leave {option} out for answers",
            ),
        ),
    ),
    Option("jobs", "Actions", ("batch",), "Jobs that run at a time.", letter="j", kind="number", least=1, default=1),
    Option("keep-going", "Actions", ("batch",), "Go on with other jobs after one has failed."),
    Option(
        "dry-run", "Actions", ("batch",),
        "Run nothing: print the commands of all jobs, in an order that they can run in.",
    ),
    Option(
        "resume", "Actions", ("batch",),
        "Skip jobs that --joblog lists: failed jobs, and finished jobs whose inputs and outputs have not changed "
        "since. Jobs are matched by their commands.",
        needs=_JOBLOG,
    ),
    Option("resume-failed", "Actions", ("batch",), "As --resume, but run failed jobs again.", needs=_JOBLOG),
    Option(
        "render", "Actions", ("bench",), "Run nothing: make tables and figures from RESULTS. Needs no device.",
        needs=Needs(("results",), "{option}: no results were named", "name the .json files of earlier runs"),
        not_with=(NotWith(_MEASURING, "{other} is for measuring", "leave {others} or {option} out", settings=False),),
    ),
    Option(
        "kernels", "Actions", ("bench",),
        f"Kernels to time, with commas between them: {', '.join(KERNELS)}; all by default.",
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
        "Shapes of inputs: uniform, few, equal, disjoint, blocky, one-sided, tiny. Shuffled keys are sorted.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "runs", "Actions", ("bench",), "Numbers of runs to merge, as 2,4,8,16.", kind="text", placeholder="LIST",
    ),
    Option("quick", "Actions", ("bench",), "Fewer and smaller cases: about a minute."),
    Option(
        "repeat", "Actions", ("bench",),
        "Runs of each kernel and library; 7 by default, 3 with --quick.",
        kind="number", least=1,
    ),
    Option("seed", "Actions", ("bench",), "The same seed makes the same runs.", kind="number", default=0),
    Option(
        "rank", "Actions", ("path",),
        "Show how co-rank finds the cut after K outputs.",
        kind="number", placeholder="K", project=True,
        brief="Show how co-rank finds this cut.",
    ),
    Option(
        "rounds", "Actions", ("path",),
        "Show the items that the kernel holds in shared memory, round by round, if it works in rounds. Tiles of "
        "more than 64 items are shown by their counts. With -o, the figure shows them instead of the path.",
        project=True,
        brief="Show shared memory, round by round.",
    ),
    Option(
        "check", "Actions", ("learn",),
        "Compile the files of FOLDER, run them on the textbook's cases and on random ones, and show the first problem. "
        "Nothing of FOLDER is run without this.",
        settable=False,
    ),
    Option(
        "solution", "Actions", ("learn",), "Print the solution of a puzzle, or all answers of the exercises.",
        kind="text", placeholder="NAME", settable=False,
        not_with=(NotWith(("check", "files"), "{option} prints a solution, so it cannot be combined with {other}"),),
    ),
    Option(
        "seed", "Actions", ("learn",), "The same seed makes the same random cases; by default they differ.",
        kind="number",
    ),
    Option(
        "json", "Actions", ("rank",),
        "Print the answers as a JSON object instead of tables; -o NAME.json implies it.", project=True,
    ),
    Option("json", "Actions", ("info",), "Print a JSON object instead of tables.", project=True),
    Option(
        "measure", "Actions", ("info",),
        "First measure this machine for auto's cost model, and keep the results for later runs. Also tell whether "
        "numpy.sort or gpumerge_cli.sort is faster on keys in memory. Takes a minute or two, and up to 4 GB in the "
        "folder for temporary files (TMPDIR), whose storage it measures.",
    ),
    Option(
        "config", "Actions", ("info",),
        "Show every setting instead, and its source: a variable, a file's line.",
        not_with=(NotWith(("measure",), "{option} only shows settings"),),
    ),
)  # fmt: skip
