"""The options about devices, resources and the program itself, which are the same in every command."""

from __future__ import annotations

from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.cli.options.model import COMBINING, Needs, NotWith, Option
from gpumerge_cli.order.equals import SETS

_ALL = ("merge", *COMBINING, "join", "sort", "check", "rank", "batch", "bench", "path", "learn", "generate", "info")
_FILES = ("merge", *COMBINING, "join", "sort", "check")
_KERNELS = ("auto", *KERNELS)

WHERE = (
    Option(
        "backend", "Where to run", (*_FILES, "rank", "bench"),
        "The processor that works. auto explains its choice in the report.",
        kind="text", choices=("auto", "gpu", "cpu"), default="auto", neutral=True, project=True,
    ),
    Option(
        "backend", "Where to run", ("path",),
        "Show the cuts of this backend. auto takes the GPU's rules if launch sizes are given, even without a GPU, and "
        "otherwise this machine's backend.",
        kind="text", choices=("auto", "gpu", "cpu"), default="auto", project=True,
    ),
    Option(
        "backend", "Where to run", ("learn",),
        "The processor that checks. cpu emulates a GPU, by a C++ compiler, and shows races and accesses outside of "
        "arrays; gpu compiles by NVRTC. auto takes all that are available.",
        kind="text", choices=("auto", "gpu", "cpu"), default="auto", project=True,
    ),
    Option(
        "device", "Where to run", ("merge", *SETS, "sort", "rank"),
        "The GPUs that may work, counted from 0: one, several as 0,1, or all, if there are any; by default the first.",
        kind="numbers", neutral=True, project=True,
    ),
    Option(
        "device", "Where to run", ("check",),
        "The GPU that may work, counted from 0; by default the first.",
        kind="numbers", neutral=True, placeholder="N", project=True,
    ),
    Option(
        "device", "Where to run", ("bench", "path", "learn"),
        "The number of the GPU, counted from 0.",
        kind="number", default=0, project=True,
    ),
    Option(
        "threads", "Where to run", (*_FILES, "rank", "bench", "path"),
        "Host threads; by default all cores.",
        kind="number", least=1, gnu="parallel", gnu_again="last", neutral=True, project=True,
    ),
    Option(
        "threads", "Where to run", ("batch",),
        "Host threads of all jobs together; by default all cores. Jobs that run at a time get equal "
        "parts, unless they ask for more or less.",
        kind="number", least=1, project=True,
    ),
    Option(
        "memory", "Where to run", ("merge", *COMBINING, "join", "check", "rank"),
        "Host memory for the chunks in flight, as 256M or 2GiB; a number alone counts KiB, b follows bytes, and % is a "
        "share of the machine's. By default a quarter of the free memory.",
        brief="Host memory to use, as 256M or 2GiB.",
        letter="S", kind="size", project=True,
    ),
    Option(
        "memory", "Where to run", ("sort",),
        "Host memory for the lines, as 256M or 2GiB; a number alone counts KiB, b follows bytes, and % is a share of "
        "the machine's. By default half of the free memory.",
        brief="Host memory to use, as 256M or 2GiB.",
        letter="S", kind="size", gnu="buffer-size", gnu_again="greatest", neutral=True, project=True,
    ),
    Option(
        "memory", "Where to run", ("batch",),
        "Host memory for all jobs together, as 256M or 2GiB; a number alone counts KiB, b follows bytes, and % is a "
        "share of the machine's. By default a quarter of the free memory. Jobs that run at a time get equal parts, "
        "unless they ask for more or less.",
        letter="S", kind="size", project=True,
    ),
    Option(
        "device-memory", "Where to run", ("merge", *SETS),
        "GPU memory to use, written as for --memory, but without %; by default little, and less after a lack of "
        "memory.",
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
        letter="T", kind="folder", multiple=True, gnu=True, project=True,
    ),
    Option(
        "temporary-directory", "Where to run", ("batch",),
        "Put temporary files of jobs that name no folder into FOLDER; by default $TMPDIR or /tmp. May be given again.",
        letter="T", kind="folder", multiple=True, gnu=True, project=True,
    ),
    Option(
        "cluster", "Where to run", (*_FILES, "batch"),
        "Have a Dask cluster do the work. Name its scheduler by the address, HOST:PORT, or by its FILE; local:N starts "
        "N worker processes on this machine, which end with the command. All machines read the inputs, and write the "
        "output, under the same names. Needs gpumerge[cluster].",
        kind="text", placeholder="ADDRESS|FILE|local[:N]", neutral=True, shared=False,
    ),
    Option(
        "cluster-wait", "Where to run", (*_FILES, "batch"),
        "Seconds to wait before the run fails if the cluster has no worker, and before another worker also gets a late "
        "piece.",
        kind="number", least=1, default=60, neutral=True,
    ),
    Option(
        "run-log", "Where to run", ("sort",),
        "With --cluster, log each sorted run to FILE, and keep the runs if the sort fails; --resume then continues.",
        kind="file", written=True, settable=False,
        needs=Needs(
            ("cluster",), "{option} is for sorts by a cluster", "add --cluster, or leave {option} out",
        ),
        not_with=(NotWith(("merge",), "{option} is for sorts by a cluster"),),
    ),
    Option(
        "resume", "Where to run", ("sort",),
        "Continue the sort that --run-log logged: runs that have the logged size and checksum are not made again.",
        settable=False,
        needs=Needs(("run-log",), "{option}: no log was named", "name it with --run-log"),
    ),
    Option(
        "batch-size", "Where to run", ("sort",),
        "Inputs that one merge reads at once, 2 or more.",
        kind="files", least=2, gnu=True, gnu_again="last", neutral=True, project=True,
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
    Option("version", "About the program", ("",), "Print the version and exit.", gnu=True, settable=False),
    Option("version", "About the program", ("sort",), "Print the version and exit.", gnu=True),
    Option(
        "show-completion", "About the program", ("",),
        "Print a script that completes command lines in this shell, and exit.",
        kind="text", choices=("bash", "zsh", "fish"), settable=False,
    ),
    # In these commands -h is not an order of lines.
    Option(
        "help", "About the program", ("", "batch", "bench", "learn", "generate", "info"),
        "Show this and exit.",
        letter="h", gnu=True, settable=False,
    ),
    Option(
        "help", "About the program", ("merge", *COMBINING, "join", "check", "rank", "path"),
        "Show short help and exit; with --help=all, show all of it.",
        choices=("all",), gnu=True, settable=False,
    ),
    Option(
        "help", "About the program", ("sort",), "Show short help and exit; with --help=all, show all of it.",
        choices=("all",), gnu=True,
    ),
)  # fmt: skip

TUNING = (
    Option(
        "kernel", "Tuning", ("merge", "sort", "path"),
        "The kernel that merges; auto takes the fastest one.",
        kind="text", choices=_KERNELS, default="auto", neutral=True, project=True,
    ),
    Option(
        "algorithm", "Tuning", ("sort",),
        "The sort algorithm of the GPU or the CPU: auto, merge, bottom-up, iterative, recursive or radix.",
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
