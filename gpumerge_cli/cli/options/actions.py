"""The options that say what a command does, or what it does it with: each of one or two commands."""

from __future__ import annotations

from gpumerge_cli.cli.options.model import Option

ACTIONS = (
    Option("merge", "What to do", ("sort",), "The files are sorted already: merge them.", letter="m", gnu=True),
    Option(
        "check", "What to do", ("sort",),
        "Say where the first disorder is, and exit 1; quiet and silent: without a word.",
        letter="c", kind="text", choices=("diagnose-first", "quiet", "silent"), value_is_optional=True, gnu=True,
    ),
    Option("check-quiet", "What to do", ("sort",), "As --check=quiet.", letter="C"),
    Option(
        "debug", "What to do", ("sort",),
        "Underline in each line what its keys compare, and note on standard error what may be meant otherwise.",
        gnu=True,
    ),
    Option("plan", "What to do", ("merge",), "Print the plan as JSON on standard output instead of merging."),
    Option(
        "compare", "What to do", ("merge",),
        "Run every kernel and the library's ways on the same data in memory, check each result, then time it. Writes "
        "no output, so it does not go with -o. With --kernel, only that kernel and basic.",
    ),
    Option(
        "compare", "What to do", ("sort",),
        "Run every algorithm beside the library's sorts in memory, check each result, then time it; then sort files.",
    ),
    Option(
        "repeat", "What to do", ("merge", "sort"),
        "How often --compare times each; 5 by default.",
        kind="number", least=1,
    ),
    Option("jobs", "What to do", ("batch",), "Jobs that run at a time.", letter="j", kind="number", least=1, default=1),
    Option("keep-going", "What to do", ("batch",), "Start further jobs though one has failed.", letter="k"),
    Option(
        "dry-run", "What to do", ("batch",),
        "Run nothing: print the commands of all jobs, in an order that they can run in.",
    ),
    Option(
        "resume", "What to do", ("batch",),
        "Leave out what --joblog says has run: jobs that are done and whose inputs and outputs nobody has written "
        "since, and jobs that failed. A job is known by its command.",
    ),
    Option("resume-failed", "What to do", ("batch",), "As --resume, but run again what failed."),
    Option(
        "render", "What to do", ("bench",), "Run nothing: make tables and figures from RESULTS. Needs no device.",
    ),
    Option(
        "kernels", "What to do", ("bench",),
        "Which kernels, of basic,tiled,circular,path; all by default.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "dtypes", "What to do", ("bench",),
        "Which types of items, as int32,int64,float16; int32+4 is a key with a payload of 4 bytes.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "sizes", "What to do", ("bench",),
        "Items of output in all, rounded down to whole runs: 1e6,2^20; 2^10:2^28:4 goes by factors of 4.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "shapes", "What to do", ("bench",),
        "Which shapes, of uniform,few,equal,disjoint,blocky,one-sided,tiny.",
        kind="text", placeholder="LIST",
    ),
    Option(
        "runs", "What to do", ("bench",), "How many runs are merged: 2,4,8,16.", kind="text", placeholder="LIST",
    ),
    Option("quick", "What to do", ("bench",), "Fewer and smaller cases: about a minute."),
    Option(
        "repeat", "What to do", ("bench",),
        "How often each is timed; 7 by default, 3 with --quick.",
        kind="number", least=1,
    ),
    Option("seed", "What to do", ("bench",), "The same seed makes the same runs.", kind="number", default=0),
    Option(
        "rank", "What to do", ("path",),
        "Show how co-rank finds the cut after K outputs.",
        kind="number", placeholder="K",
    ),
    Option(
        "rounds", "What to do", ("path",),
        "Show what the circular or the tiled kernel holds in shared memory, round by round. With -o, the figure shows "
        "that instead of the path.",
    ),
    Option("json", "What to do", ("info",), "Print a JSON object instead of tables."),
    Option(
        "measure", "What to do", ("info",),
        "First measure what auto's cost model goes by on this machine, and keep it for later runs. Takes a minute or "
        "two, and up to 4 GB in the folder for temporary files (TMPDIR), whose storage it measures.",
    ),
    Option(
        "config", "What to do", ("info",),
        "Show every setting instead, and what it came from: a variable, a file's line.",
    ),
)  # fmt: skip
