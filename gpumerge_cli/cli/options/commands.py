"""The commands: their descriptions, arguments and options, and the ends of their help."""

from __future__ import annotations

from gpumerge_cli.cli.examples import EXAMPLES
from gpumerge_cli.cli.options.actions import ACTIONS
from gpumerge_cli.cli.options.items import INPUT, ORDER
from gpumerge_cli.cli.options.joining import JOIN
from gpumerge_cli.cli.options.model import SUFFIXES_MARK, Argument, Command, Needs, NotWith, Option
from gpumerge_cli.cli.options.other_names import short_names
from gpumerge_cli.cli.options.output import OUTPUT
from gpumerge_cli.cli.options.running import ABOUT, TUNING, WHERE

_ROWS: tuple[Option, ...] = (*ACTIONS, *JOIN, *INPUT, *ORDER, *OUTPUT, *WHERE, *ABOUT, *TUNING)

_OFF = "--no-NAME turns off a switch that a setting turned on, as --no-quiet."
SWITCHES = (
    f"{_OFF} Long names that coreutils has for the same purpose, as --numeric-sort, may be shortened while they stay "
    "unique. All others must be written in full."
)


def _exit_codes(disorder: str = "") -> str:
    """The list of exit codes. disorder: the meaning of code 1, "" if the command has no such code."""
    one = f"\n  1    {disorder}" if disorder else ""
    return f"""\b
Exit codes:
  0    done{one}
  2    anything else is wrong; one line says what and where
  130, 143   stopped by Ctrl-C or SIGTERM; nothing written
  141  the reader of standard output has closed it"""


_FILES_AND_SWITCHES = f"{SUFFIXES_MARK}\n\n{SWITCHES}"
_EPILOG = f"{_FILES_AND_SWITCHES}\n\n{_exit_codes()}"

_BATCH = """\b
A job file in TOML, with paths relative to it:
  [defaults]
  operation = "merge"                 # or sort, check, join, union, ...
  numeric-sort = true                 # an option of the operation
  output = "merged/{job}.txt"
  [[job]]
  name = "monday"
  inputs = ["monday/*.txt", "late.txt"]
  [[job]]
  name = "week"
  inputs = ["merged/monday.txt", "${ARCHIVE}/tuesday.txt"]

\b
In JSON lines, each line is a job; a line {"defaults": {...}} holds defaults.

\b
Names, outputs and paths may hold:
  ${NAME}     the environment's; $${NAME} is the text itself
  {job}       the job's name
  {part}      the number of a part, in the output of a job with parts
  {name} {stem} {suffix} {dir}   of the first input: in/a.txt has a.txt, a,
              .txt and in; {{ and }} are braces

Globs match existing files and outputs of other jobs. They leave out the job's
own output, and files that are named beside the glob. A job that reads another's
output runs after it. Mistakes in the file are reported, with their lines, before
any job runs.

\b
Exit codes:
  0    all jobs are done
  2    a job failed, or anything else is wrong; the last line says how many
  130, 143   stopped by Ctrl-C or SIGTERM; outputs that are done stay"""

_BENCH = """\b
Shapes: those of gpumerge generate, and
  tiny       uniform keys, all runs but the first a thousandth of the whole

Dtypes, sizes, shapes and runs are varied one at a time around a middle case. If any is named, all combinations are
run."""

_PATH = f"""\b
The grid has A from the top down and B from left to right. The path goes down
where the merge takes an item of A and right where it takes one of B; where it
crosses the cross diagonal of rank k, i items of A and j of B are merged,
i + j = k. That is the one place where the work can be cut.

\b
The page of --html has pieces of blocks and threads, the sectors of memory that
each access of a warp touches, and shared memory round by round. Its counts are
those of the kernels' source. They cover up to 128 items of each input; of
longer inputs the page shows every Nth item, and says so.

{SUFFIXES_MARK}"""

_LEARN = f"""\b
Puzzles, in the order in which to take them:
  exercises    questions whose answers are numbers
  sequential   the merge by one thread
  co_rank      where a merge can be cut
  basic tiled circular   the textbook's three kernels
  k_way        the ranks of the items of many runs
  intersect    a set operation
  bug_...      kernels with one mistake to find; FOLDER has them all

{_exit_codes("a puzzle that was checked is not solved")}"""

_GENERATE = f"""\b
Shapes, of the files named together:
  uniform    every file over the whole key range
  few        the same with 16 distinct keys
  equal      one key
  disjoint   the files' keys lie one after the other, in the order of FILES
  blocky     the files take turns, in stretches of 1 to 65,536 items
  one-sided  the first over the whole range, the others in a narrow part of it

{SUFFIXES_MARK}"""

_SETS = f"""\b
If A holds the lines 1 2 2 3 and B holds 2 3 3:
                      output       with --distinct
  union A B           1 2 2 3 3    1 2 3
  intersect A B       2 3          2 3
  difference A B      1 2          1
  symmetric A B       1 2 3        1

{_EPILOG}"""

_COMPARE = f"""\b
If A holds the lines 1 2 2 3 and B holds 2 3 3, the columns are:
  1
          2
  2
          3
      3

{_EPILOG}"""

_RANKS = f"""\b
If A holds the numbers 1 4 9 and B holds 2 4, the merge is 1 2 4 4 9:
  --at 3             the second 4; before it are 2 items of A and 1 of B
  --quantile 0.5     4, the item in the middle
  --of 4             lower 2 and upper 4: two items are before 4, two equal it
  --range 1:3        2 4

{_EPILOG}"""

_JOIN = f"""\b
For lines, letters mean what they mean in coreutils' join: -o chooses columns,
-v lines without a partner, and -i ignores case. --output names the output.

\b
Sort both files by their keys first:
  join A B                  sort -s -k 1b,1
  join -n A B               sort -s -k 1bn,1
  join -t , -j 1,2n A B     sort -s -t , -k 1,1 -k 2,2n

{_EPILOG}"""

_SETS_CHECK = (
    "Two items are equal if their keys are equal, as for sort -u. Items are written unchanged. All files must be "
    "sorted; disorder is an error. Items that equal each other are held in memory together. The CPU does the work, "
    "unless --backend gpu is given."
)

_SORTED_FILES = Argument("files", "FILES", "Sorted files; - is standard input.")


def _command(name: str, summary: str, details: str, *arguments: Argument, ending: str = "") -> Command:
    return Command(name, summary, details, _ROWS, arguments, ending, EXAMPLES.get(name, ()))


COMMANDS = (
    _command(
        "",
        "Merge sorted files on the GPU or the CPU, as fast as the machine moves their bytes, and see why.",
        "Data goes to standard output, everything else to standard error. See gpumerge COMMAND --help.",
        ending=f"{short_names()}\n\n{SUFFIXES_MARK}\n\n{SWITCHES}\n\n"
        f"{_exit_codes('disorder (check, sort -c), or files differ (diff)')}",
    ),
    _command(
        "merge",
        "Merge sorted files into one.",
        "The merge is stable: items that compare equal come in the order of FILES. Text keeps its lines as they are. "
        "NaN sorts last and -0.0 equals 0.0, as in NumPy. At the end one line on standard error says how much was "
        "merged, how fast and where, and what bounded it.",
        _SORTED_FILES,
        ending=_EPILOG,
    ),
    _command(
        "union",
        "Write the items that any of several sorted files holds.",
        "An item is written as often as it occurs in the file that holds most of it. If A holds an item twice and B "
        f"holds it once, it is written twice. With --distinct, each item is written once. {_SETS_CHECK}",
        _SORTED_FILES,
        ending=_SETS,
    ),
    _command(
        "intersect",
        "Write the items that all of several sorted files hold.",
        "An item is written as often as it occurs in the file that holds fewest of it. If A holds an item twice and B "
        "holds it once, it is written once. All items are taken from the first file. With --distinct, each item that "
        f"all files hold is written once. {_SETS_CHECK}",
        _SORTED_FILES,
        ending=_SETS,
    ),
    _command(
        "difference",
        "Write the items of a sorted file without those that the other files hold.",
        "Each item of another file removes one equal item of the first file. If A holds an item twice and B holds it "
        "once, it is written once. With --distinct, an item is written once if no other file holds it, and not at all "
        f"otherwise. {_SETS_CHECK}",
        _SORTED_FILES,
        ending=_SETS,
    ),
    _command(
        "symmetric",
        "Write the items that one of two sorted files holds and the other does not.",
        "If one file holds an item more often than the other, the surplus is written. If A holds an item three times "
        "and B holds it once, it is written twice. With --distinct, an item is written once if only one of the "
        "files holds it. With more than two files, the result of the first two is combined with the third in the same "
        f"way, and so on. {_SETS_CHECK}",
        _SORTED_FILES,
        ending=_SETS,
    ),
    _command(
        "compare",
        "Write the lines of two sorted files in three columns, as comm does.",
        "The first column shows the lines that only A holds, the second column those that only B holds, and the third "
        "column those that both hold. -1, -2 and -3 leave a column out: -12 shows the lines of both files, -23 the "
        "lines of A alone. A line that A holds three times and B once is shown once in the third column and twice in "
        "the first. The output has the same bytes as comm's, in the C locale or in the locale of --locale. A byte "
        "order mark before the first line is not part of that line. The options of order allow other orders than "
        "comm's. Rows of tables get a column found_in instead, and JSON Lines a member: its value is first, second or "
        "both. CSV (--csv, --field) and binary items need -12, -13 or -23. Both files must be sorted; disorder is an "
        "error. Runs on the CPU.",
        Argument("files", "A B", "Two sorted files; - is standard input."),
        ending=_COMPARE,
    ),
    _command(
        "diff",
        "Write the items of two sorted files that were added, removed or changed, by key.",
        "Each item is written after a column change, in the order of the key: - marks an item that only OLD holds, + "
        "an item that only NEW holds. If both hold an item with one key, and its other bytes differ, both are written: "
        "< marks the old one, > the new one. Values of CSV are compared without the quotes around them, values of "
        "tables by their types. Without a key, items are compared as a whole. In CSV and tables, change is the first "
        "column; in lines it stands before a tab; in JSON Lines it is the first member, in records the first byte. "
        "Both files must have the same columns and be sorted by the key; disorder is an error. Keys must be unique, "
        "unless --multi is given. Runs on the CPU.",
        Argument("files", "OLD NEW", "Two sorted files; - is standard input."),
        ending=f"{_FILES_AND_SWITCHES}\n\n{_exit_codes('the files differ')}",
    ),
    _command(
        "join",
        "Join two sorted files by their keys.",
        "Items are lines, rows of CSV or tables, JSON Lines, records or numbers. An item of A and an item of B with "
        "equal keys are a pair. A pair of lines is written as the key, the other fields of A and the other fields of "
        "B; a pair of records as the record of A and the record of B without its key; a pair of rows as the columns of "
        "the key, of A and of B; a pair of JSON objects as one object with the members of both. Each item of A is "
        "written with all its partners, in the order of B. Keys of lines compare by their bytes unless an option says "
        "otherwise. For lines, options and output are as in coreutils' join, in the C locale or in the locale of "
        "--locale. A byte order mark before the first line is not part of that line. Both files must be sorted by "
        "their keys, which is checked on the way. Runs on the CPU.",
        Argument("files", "A B", "Two sorted files; - is standard input."),
        ending=_JOIN,
    ),
    _command(
        "sort",
        "Sort lines as GNU sort does.",
        "Sorts lines, merges sorted files of lines (-m), or checks one (-c), with the same options and the same output "
        "as GNU sort, in the C locale or in the locale of --locale. GNU's long options may be shortened. Without FILE, "
        "or if FILE is -, standard input is read. Files of numbers and records are sorted, too, if suffixes or options "
        "name their type.",
        Argument("files", "FILE", "Files of lines; - is standard input."),
        ending=_exit_codes("disorder found (-c, -C), or an invalid WORD"),
    ),
    _command(
        "check",
        "Check that each file is in order.",
        "If all files are in order, it prints nothing and exits with 0. Otherwise it names the first disorder of each "
        "file on standard error, counts the files out of order, and exits with 1. Each file is checked alone: the last "
        "item of a file and the first of the next may be in any order.",
        _SORTED_FILES,
        ending=f"{_FILES_AND_SWITCHES}\n\n{_exit_codes('disorder found')}",
    ),
    _command(
        "rank",
        "Find items by their ranks in the merge, and ranks of items, without merging.",
        "The rank of an item is its position in the merge of all files, counted from 0. gpumerge rank searches the "
        "files and merges nothing, so it is fast however large they are. It reads few items, and checks only their "
        "order. Lines differ in length and must be counted: --at and --of read all lines up to the answer, --quantile "
        "reads all lines, --split reads few. Compressed files, pipes and quoted CSV are copied first.",
        _SORTED_FILES,
        ending=_RANKS,
    ),
    _command(
        "batch",
        "Run the merges, sorts, checks, sets, diffs, joins and ranks that a job file lists.",
        "All jobs are checked before the first one runs, and mistakes are reported with their lines. Jobs on a GPU "
        "share the process and compiled kernels; with --jobs, other jobs have processes of their own. Each output "
        "appears whole or not at all.",
        Argument("file", "JOBS", "A job file, TOML or JSON lines; - is standard input.", many=False, required=True),
        ending=_BATCH,
    ),
    _command(
        "bench",
        "Time every kernel and library on synthetic runs.",
        "Runs are made in memory and merged by every kernel and by libraries: cupy.sort and, if nvcc and its headers "
        "are installed, CCCL on the GPU; NumPy's stable sort and, if it is installed, polars on the CPU. Every output "
        "is checked before anything is timed. Times are of the merge alone, and are compared with the best copy of the "
        "same bytes in the same run. Ctrl-C and SIGTERM end the run with the results so far.",
        Argument(
            "results",
            "RESULTS",
            "With --render: .json files of earlier runs.",
            needs=Needs(("render",), "{option}: bench makes its own data", "leave it out, or add --render"),
        ),
        ending=_BENCH,
    ),
    _command(
        "path",
        "Draw the merge path of two sorted inputs.",
        "Shows where blocks and threads cut the merge: by the sizes with which merge would launch its kernel, or by "
        "the given ones. Large inputs are drawn to a scale, which the picture names.",
        Argument("files", "A B", "Two sorted files; - is standard input."),
        ending=_PATH,
    ),
    _command(
        "learn",
        "Learn by writing the kernels of the textbook's chapter on merge, each checked as you go.",
        "Writes exercises, kernels with a gap, and the textbook's kernels with one printed mistake each into FOLDER. "
        "It writes only files that are missing. With --check, it runs what you wrote in a process of its own, and "
        "shows the first wrong item, the race or the access outside of an array. Names after FOLDER choose puzzles; "
        "without names, all are chosen.",
        Argument("files", "FOLDER NAME", "The folder for your answers, then names of puzzles."),
        ending=_LEARN,
    ),
    _command(
        "generate",
        "Make test files, sorted or shuffled.",
        "Makes one file for each name. Integers are spread over their whole range, floats over -1 to 1; lines are "
        "numbers. Keys of records that are bytes are big-endian integers; the records' other bytes look random. A "
        ".npy file holds int32 unless --dtype says otherwise.",
        Argument("files", "FILES", "Files to make; - is standard output.", required=True),
        ending=_GENERATE,
    ),
    _command(
        "info",
        "Show devices, versions and auto's picks, or the facts of tables.",
        "For a few sizes of input it shows where merge --backend auto would work, and why. With FILES it shows their "
        "schemas and row groups, the orders that they state, the ranges of the key, and the row groups that a merge of "
        "them would decode. It reads no rows.",
        Argument(
            "files",
            "FILES",
            "Tables; without any, it tells about this machine.",
            not_with=(
                NotWith(("measure", "config"), "{other} tells about this machine, not about files", "leave it out"),
            ),
        ),
    ),
)
"""All commands in the order of help, gpumerge itself first."""

COMMAND_NAMES = tuple(one.name for one in COMMANDS[1:])


def command(name: str) -> Command:
    """The command of that name; gpumerge itself for "". Raises KeyError."""
    for one in COMMANDS:
        if one.name == name:
            return one
    raise KeyError(name)


def options_of(name: str) -> tuple[Option, ...]:
    """The options of the command of that name; none if there is no such command."""
    return next((one.options for one in COMMANDS if one.name == name), ())
