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
        "Underline in each line what its keys compare, and note on standard error what may be meant otherwise.",
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
        "How often --compare runs each way of working; 5 by default.",
        kind="number", least=1,
    ),
    Option("jobs", "Actions", ("batch",), "Jobs that run at a time.", letter="j", kind="number", least=1, default=1),
    Option("keep-going", "Actions", ("batch",), "Start further jobs though one has failed.", letter="k"),
    Option(
        "dry-run", "Actions", ("batch",),
        "Run nothing: print the commands of all jobs, in an order that they can run in.",
    ),
    Option(
        "resume", "Actions", ("batch",),
        "Leave out what --joblog says has run: jobs that are done and whose inputs and outputs nobody has written "
        "since, and jobs that failed. A job is known by its command.",
    ),
    Option("resume-failed", "Actions", ("batch",), "As --resume, but run again what failed."),
    Option(
        "render", "Actions", ("bench",), "Run nothing: make tables and figures from RESULTS. Needs no device.",
    ),
    Option(
        "kernels", "Actions", ("bench",),
        f"Which kernels, of {', '.join(NAMES)}; all by default. A list has commas.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "dtypes", "Actions", ("bench",),
        "Which types of items, as int32,float16; int32+4 is a key with a payload of 4 bytes.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "sizes", "Actions", ("bench",),
        "Items of output in all, rounded down to whole runs: 1e6,2^20; 2^10:2^28:4 goes by factors of 4.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "shapes", "Actions", ("bench",),
        "Which shapes, of uniform, few, equal, disjoint, blocky, one-sided and tiny.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "runs", "Actions", ("bench",), "How many runs are merged: 2,4,8,16.", kind="text", placeholder="LIST",
    ),
    Option("quick", "Actions", ("bench",), "Fewer and smaller cases: about a minute."),
    Option(
        "repeat", "Actions", ("bench",),
        "How often each is timed; 7 by default, 3 with --quick.",
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
        "Show what the circular or the tiled kernel holds in shared memory, round by round. With -o, the figure shows "
        "that instead of the path.",
    ),
    Option("json", "Actions", ("info",), "Print a JSON object instead of tables."),
    Option(
        "measure", "Actions", ("info",),
        "First measure what auto's cost model goes by on this machine, and keep it for later runs. Takes a minute or "
        "two, and up to 4 GB in the folder for temporary files (TMPDIR), whose storage it measures.",
    ),
    Option(
        "config", "Actions", ("info",),
        "Show every setting instead, and what it came from: a variable, a file's line.",
    ),
)  # fmt: skip
