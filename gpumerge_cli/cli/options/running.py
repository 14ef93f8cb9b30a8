"""The options about devices, resources, progress and reports, which are the same in every command."""

from __future__ import annotations

from gpumerge_cli.backends.ladder import NAMES
from gpumerge_cli.cli.options.model import COMBINING, Needs, NotWith, Option
from gpumerge_cli.order.equals import SETS

_ALL = ("merge", *COMBINING, "join", "sort", "check", "rank", "batch", "bench", "path", "generate", "info")
_FILES = ("merge", *COMBINING, "join", "sort", "check")
_KERNELS = ("auto", *NAMES)
_OF_ALL = NotWith(
    ("unique", "count", "count-to", "plan", "compare"),
    "{option} counts the items of a merge of all, so it does not go with {other}",
    "leave one of them out",
)
_RANGE = Needs(
    ("range",), "{option} is for the items of --range", "add --range, or leave {option} out", settings=False,
)  # fmt: skip

OUTPUT = (
    Option(
        "output", "Output", ("merge", *COMBINING, "sort"),
        "Write the output to FILE, by default to standard output. FILE may be an input. It appears whole or not "
        "at all.",
        letter="o", kind="file", written=True, gnu=True,
    ),
    Option(
        "output", "Output", ("rank",),
        "Write the answers, or the items of --range, to FILE, by default to standard output. It appears whole or not "
        "at all.",
        letter="o", kind="file", written=True,
    ),
    Option(
        "output", "Output", ("join",),
        "Write the output to FILE, by default to standard output. FILE may be an input. It appears whole or not "
        "at all.",
        kind="file", written=True,
    ),
    Option(
        "output", "Output", ("bench",),
        "Write the results: .json, .csv, .md or .html; may be given more than once. A table on standard output if "
        "neither this nor --figures is given.",
        letter="o", kind="file", written=True, multiple=True, shared=False,
    ),
    Option(
        "output", "Output", ("path",),
        "Draw a figure: .svg or .png. Needs gpumerge[plot]. In the terminal if not said.",
        letter="o", kind="file", written=True, shared=False,
    ),
    Option(
        "figures", "Output", ("bench",),
        "Draw figures, PNG and SVG, in this folder. Needs gpumerge[plot].",
        kind="folder", written=True,
    ),
    Option(
        "head", "Output", ("merge",),
        "Write only the first N items of the merge: 10, 1e6 or 2^20. Little more than these is read, and only that is "
        "checked for order.",
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
        "parts", "Output", ("merge", *SETS, "sort"),
        "Write the output as N files, its consecutive ranges. They appear at the end, all or none, unless the program "
        "is killed in that moment. Each is an Nth of the bytes, but for an item or a line; sizes differ more where "
        "equal items are left out. {part} in the name of -o stands for the number, from 0: with -o 'out.{part}.txt', "
        "12 parts are out.00.txt to out.11.txt.",
        kind="number", least=1, settable=False,
    ),
    Option(
        "count", "Output", ("merge", *SETS),
        "Write equal lines once, with their number. The number stands ahead of the line as uniq -c has it, or with "
        "--count=after at its end, behind a tab.",
        kind="text", choices=("ahead", "after"), value_is_optional=True,
    ),
    Option(
        "count", "Output", ("sort",),
        "Write equal lines once, with their number. The number stands ahead of the line as uniq -c has it, or with "
        "--count=after at its end, behind a tab. Lines are equal if all their bytes are; with -u or -s, if their keys "
        "are. With -m, disorder is an error.",
        kind="text", choices=("ahead", "after"), value_is_optional=True,
    ),
    Option(
        "count-to", "Output", ("merge", *SETS, "sort"),
        "Write equal items once, and to FILE the number of equals of each item, in the same order. For lines, numbers "
        "and records. The numbers are little-endian uint64, raw or in a .npy file as the suffix of FILE says. Output "
        "and FILE appear together or not at all.",
        kind="file", written=True, settable=False,
        not_with=(
            NotWith(("count",), "{other} and {option} put the numbers in two places", "use one of the two"),
            NotWith(("parts",), "{option} writes the counts of one output", "leave {other} out"),
        ),
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
        "The text between columns; by default a tab.",
        kind="text", default="\\t", project=True,
    ),
    Option(
        "total", "Output", ("compare",), "Write a last line that says how many lines each column has.", project=True,
    ),
    Option(
        "fsync", "Output", ("merge", *COMBINING, "join", "sort", "rank"),
        "Force the output to storage before it is renamed to its name, and the name afterwards.",
        neutral=True,
    ),
    Option(
        "fsync", "Output", ("batch",),
        "Force the outputs of all jobs to storage, as merge --fsync does; fsync = false in a job takes it back.",
    ),
    Option(
        "joblog", "Output", ("batch",),
        "Log every job when it ends, in the columns of GNU parallel, and Bytes, Backend and Kernel. Replaces an "
        "earlier log, unless --resume goes on with it.",
        kind="file", written=True,
    ),
    Option(
        "report", "Output", ("merge", *SETS, "sort"),
        "Write a report to FILE that says what took the time: .json, .md or .html; with --compare also .csv.",
        kind="file", written=True, neutral=True,
    ),
    Option(
        "report", "Output", ("compare", "join"),
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
        "Write a line of JSON for every job that ends, or fails since another has, to FILE, .jsonl; --resume goes on "
        "with it.",
        kind="file", written=True, shared=False,
    ),
    Option(
        "progress", "Output", ("merge", *COMBINING, "join", "rank", "batch"),
        "Show on a terminal how far the work is, or do not.",
        default=True, off="no-progress", project=True,
    ),
    Option(
        "progress", "Output", ("sort", "check"), "Show on a terminal how far the work is.", neutral=True, project=True,
    ),
    Option(
        "quiet", "Output", (*_FILES, "rank", "batch", "bench"),
        "Print nothing but errors and warnings on standard error.",
        letter="q", neutral=True, project=True,
    ),
    Option(
        "verbose", "Output", ("merge", *COMBINING, "sort"),
        "Print a table on standard error that says what took the time.",
        letter="v", neutral=True, aliases=("stats",), project=True,
    ),
    Option(
        "verbose", "Output", ("rank",),
        "With --range, print a table on standard error that says what took the time.",
        letter="v", neutral=True, aliases=("stats",), project=True, needs=_RANGE,
    ),
    Option(
        "verbose", "Output", ("join",),
        "Print a table on standard error that says what took the time.",
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

WHERE = (
    Option(
        "backend", "Where to run", (*_FILES, "rank", "bench"),
        "The processor that works. auto explains its choice in the report.",
        kind="text", choices=("auto", "gpu", "cpu"), default="auto", neutral=True, project=True,
    ),
    Option(
        "backend", "Where to run", ("path",),
        "Show the cuts of this backend. auto takes the GPU's rules if launch sizes are given, even without a GPU, and "
        "else the backend of this machine.",
        kind="text", choices=("auto", "gpu", "cpu"), default="auto", project=True,
    ),
    Option(
        "device", "Where to run", ("merge", *SETS, "sort", "rank"),
        "The GPUs that may work, counted from 0: one, several as 0,1, or all there are, if any; by default the first.",
        kind="numbers", neutral=True, project=True,
    ),
    Option(
        "device", "Where to run", ("check",),
        "The GPU that may work, counted from 0; by default the first.",
        kind="numbers", neutral=True, placeholder="N", project=True,
    ),
    Option(
        "device", "Where to run", ("bench", "path"),
        "The number of the GPU, counted from 0.",
        kind="number", default=0, project=True,
    ),
    Option(
        "threads", "Where to run", (*_FILES, "rank", "bench", "path"),
        "Host threads; by default all cores.",
        kind="number", least=1, gnu="parallel", neutral=True, project=True,
    ),
    Option(
        "threads", "Where to run", ("batch",),
        "Host threads of all jobs together; by default all cores. Each job at a time gets an equal part, unless it "
        "asks for more or less.",
        kind="number", least=1, project=True,
    ),
    Option(
        "memory", "Where to run", ("merge", *COMBINING, "join", "check", "rank"),
        "Host memory for the chunks in flight, as 256M or 2GiB; a number alone counts KiB, b follows bytes, and % is a "
        "share of the machine's. By default a quarter of the free memory.",
        letter="S", kind="size", project=True,
    ),
    Option(
        "memory", "Where to run", ("sort",),
        "Host memory for what is held, as 256M or 2GiB; a number alone counts KiB, b follows bytes, and % is a share "
        "of the machine's. By default half of what is free.",
        letter="S", kind="size", gnu="buffer-size", neutral=True, project=True,
    ),
    Option(
        "memory", "Where to run", ("batch",),
        "Host memory for what is in flight, of all jobs together, as 256M or 2GiB; a number alone counts KiB, b "
        "follows bytes, and % is a share of the machine's. By default a quarter of what is free. Each job at a time "
        "gets an equal part, unless it asks for more or less.",
        letter="S", kind="size", project=True,
    ),
    Option(
        "device-memory", "Where to run", ("merge", *SETS),
        "Memory to take on the GPU, written as --memory, but not with %; by default little, and less after it has run "
        "out.",
        kind="size", project=True,
    ),
    Option(
        "temporary-directory", "Where to run", ("sort",),
        "Put temporary files into FOLDER; by default $TMPDIR or /tmp. May be given again.",
        letter="T", kind="folder", multiple=True, gnu=True, neutral=True, project=True,
    ),
    Option(
        "temporary-directory", "Where to run", ("merge", *COMBINING, "join", "check", "rank", "path"),
        "Put copies of compressed files and pipes into FOLDER; by default $TMPDIR or /tmp. May be given again.",
        letter="T", kind="folder", multiple=True, project=True,
    ),
    Option(
        "temporary-directory", "Where to run", ("batch",),
        "Put temporary files of jobs that name no folder into FOLDER; by default $TMPDIR or /tmp. May be given again.",
        letter="T", kind="folder", multiple=True, project=True,
    ),
    Option(
        "cluster", "Where to run", ("merge", "sort", "check", "batch"),
        "Have a Dask cluster do the work: a scheduler by its address, HOST:PORT, or by its FILE, or N worker processes "
        "of this machine that run as long as the command does. All machines read the inputs, and write the output, "
        "under the same names. Needs gpumerge[cluster].",
        kind="text", placeholder="ADDRESS|FILE|local[:N]", neutral=True, shared=False,
    ),
    Option(
        "cluster-wait", "Where to run", ("merge", "sort", "check", "batch"),
        "Seconds in which a worker must come to a cluster that has none, before the run is given up; and after which a "
        "piece that is late is given to another worker, too.",
        kind="number", least=1, default=60, neutral=True,
    ),
    Option(
        "run-log", "Where to run", ("sort",),
        "With --cluster, log each sorted run to FILE, and keep the runs if the sort fails; --resume then goes on.",
        kind="file", written=True, settable=False,
        needs=Needs(
            ("cluster",), "{option} is for sorts by a cluster", "add --cluster, or leave {option} out",
        ),
        not_with=(NotWith(("merge",), "{option} is for sorts by a cluster"),),
    ),
    Option(
        "resume", "Where to run", ("sort",),
        "Go on with the sort that --run-log names: runs with the size and checksum that it has are not made again.",
        settable=False,
        needs=Needs(("run-log",), "{option}: there is no log to go on with", "name it with --run-log"),
    ),
    Option(
        "batch-size", "Where to run", ("sort",),
        "Inputs that one merge reads at once, 2 or more.",
        kind="number", least=2, gnu=True, neutral=True, project=True,
    ),
    Option(
        "compress-program", "Where to run", ("sort",),
        "Compresses temporary files; PROGRAM -d decompresses them.",
        kind="program", gnu=True, neutral=True,
    ),
)  # fmt: skip

ABOUT = (
    Option(
        "debug", "About the program", tuple(name for name in _ALL if name != "sort"),
        "On an error, show the traceback, too.",
        aliases=("traceback",), project=True,
    ),
    Option(
        "traceback", "About the program", ("sort",),
        "On an error, show the traceback, too; --debug is GNU sort's.",
        neutral=True, settings=("debug",), project=True,
    ),
    Option("version", "About the program", ("",), "Print the version and exit.", settable=False),
    Option("version", "About the program", ("sort",), "Print the version and exit.", gnu=True),
    Option(
        "show-completion", "About the program", ("",),
        "Print what completes command lines in this shell, and exit.",
        kind="text", choices=("bash", "zsh", "fish"), settable=False,
    ),
    # In these commands -h is not an order of lines.
    Option(
        "help", "About the program", ("", "batch", "bench", "generate", "info"),
        "Show this and exit.",
        letter="h", settable=False,
    ),
    Option(
        "help", "About the program", ("merge", *COMBINING, "join", "check", "rank", "path"), "Show this and exit.",
        settable=False,
    ),
    Option("help", "About the program", ("sort",), "Show this and exit.", gnu=True),
)  # fmt: skip

TUNING = (
    Option(
        "kernel", "Tuning", ("merge", "sort", "path"),
        "The kernel that merges; auto takes the fastest one.",
        kind="text", choices=_KERNELS, default="auto", neutral=True, project=True,
    ),
    Option(
        "algorithm", "Tuning", ("sort",),
        "The way of the GPU or the CPU to sort: auto, merge, bottom-up, iterative, recursive or radix.",
        kind="text", placeholder="NAME", neutral=True,
        choices=("auto", "merge", "bottom-up", "iterative", "recursive", "radix"), project=True,
    ),
    Option("block-size", "Tuning", ("merge", "path"), "Threads a block.", kind="number", least=1, project=True),
    Option(
        "items-per-thread", "Tuning", ("merge", "path"),
        "Items that a thread merges after one co-rank; 1 is the uncoarsened kernel.",
        kind="number", least=1, project=True,
    ),
    Option(
        "tile-size", "Tuning", ("merge", "path"), "Items of each input that a block stages.", kind="number", least=1,
        project=True,
    ),
    Option(
        "tile-load", "Tuning", ("merge", "path"),
        "For kernels that can do both, load in each round --tile-size items of each input, or only the items needed.",
        kind="text", choices=("full", "exact"), project=True,
    ),
    Option("blocks", "Tuning", ("merge",), "Blocks in the grid.", kind="number", least=1, project=True),
    Option(
        "blocks", "Tuning", ("path",),
        "Blocks in the grid, for kernels that stage rounds; 1 if other sizes of the launch are given.",
        kind="number", least=1, project=True,
    ),
    Option(
        "fan-in", "Tuning", ("merge", "sort"),
        "The most runs that one pass merges: 2, 4, 8 or 16.",
        kind="number", neutral=True, project=True,
    ),
    Option(
        "transfer", "Tuning", ("merge",),
        "Move tiles by the bulk copy engine of newer GPUs, or by the threads.",
        kind="text", choices=("bulk", "vector"), project=True,
    ),
)  # fmt: skip
