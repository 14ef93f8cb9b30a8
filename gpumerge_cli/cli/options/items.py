"""The options that describe the input and its order."""

from __future__ import annotations

from gpumerge_cli.cli.options.model import COMBINING, Needs, NotWith, Option
from gpumerge_cli.formats.names import FORMAT_NAMES
from gpumerge_cli.order.equals import SETS
from gpumerge_cli.order.key_kinds import KINDS, LETTERS, TYPED_WORDS

_FILES = ("merge", *COMBINING, "sort", "check")
_ORDERED = (*_FILES, "path", "rank")
_TYPED = (*_ORDERED, "generate")
_KEYED = (*_ORDERED, "join")
_KEPT_ORDER = "leave {other} out, or use gpumerge sort without {option}"
_STABLE = tuple(name for name in _ORDERED if name != "sort")

_WITH_WORDS = sorted((kind for kind in KINDS if kind.word), key=lambda kind: kind.word)
_KIND_OPTIONS = tuple(kind.option for kind in KINDS if kind.option)
_SORT_WORDS = tuple(kind.word for kind in _WITH_WORDS)
_SHOWN_WORDS = [f"{kind.word} (-{kind.letter})" if kind.letter else kind.word for kind in _WITH_WORDS]
_KINDS = f"{', '.join(TYPED_WORDS[:-1])}{' or ' * (len(TYPED_WORDS) > 1)}{TYPED_WORDS[-1]}"
_ONE_OF_EQUALS = (
    NotWith(
        ("count", "count-to"), "{other} counts equal items, and {option} keeps one of them", "use one of the two",
    ),
)  # fmt: skip

INPUT = (
    Option(
        "files0-from", "Input", (*_FILES, "rank"),
        "Take the names of the files from FILE, each ended by a NUL byte (find -print0); - is standard input.",
        kind="file", gnu=True, gnu_again="last",
        not_with=(NotWith(("files",), "{other}: files are named by {option} already", "use one of the two"),),
    ),
    Option(
        "items", "Input", ("path",),
        "Items of an input instead of its file, with blanks or commas between them, as in --items '1 3 5'. Give it "
        "twice. Items are numbers if all of them are, else lines.",
        kind="text", placeholder="LIST", multiple=True,
        not_with=(
            NotWith(("files",), "{other}: the inputs are given by {option} already", "use files or {option}"),
            NotWith(
                (
                    "format", "dtype", "record-size", "key-offset", "key-size", "field", "csv", "header",
                    "header-prefix", "schema",
                ),
                "{option} are numbers or lines", "leave {others} out", settings=False,
            ),
        ),
    ),
    Option(
        "format", "Input", (*_TYPED, "join"),
        "The layout of the files; by default, their suffixes give it.",
        kind="text", choices=FORMAT_NAMES, project=True,
    ),
    Option(
        "dtype", "Input", (*_TYPED, "join"),
        "Items of raw files, in NumPy's names: int8 to int64, uint8 to uint64, float16 to float64; >i4 is big-endian "
        "int32. By default, the suffix gives it. With fields, as u4,f8 or [('id','<u4'),('name','S10')], items are "
        "records, and --field names their key.",
        kind="text", placeholder="NAME", project=True,
    ),
    Option(
        "record-size", "Input", _TYPED,
        "Items are records of BYTES bytes each. The key is bytes, or a number if --dtype names its type.",
        kind="number", placeholder="BYTES", least=1, project=True,
    ),
    Option(
        "key-offset", "Input", _TYPED,
        "The key starts at this byte of a record, counted from 0; 0 by default.",
        kind="number", placeholder="BYTES", project=True,
    ),
    Option(
        "record-size", "Input", ("join",),
        "Items are records of so many bytes, as 16, or of different sizes in A and B, as 16,24. The key is bytes, or a "
        "number if --dtype names its type.",
        kind="text", placeholder="BYTES[,BYTES]", project=True,
    ),
    Option(
        "key-offset", "Input", ("join",),
        "The key starts at this byte of a record, counted from 0; 0 by default. With a comma, for A and for B: 0,8.",
        kind="text", placeholder="BYTES[,BYTES]", project=True,
    ),
    Option(
        "key-size", "Input", (*_TYPED, "join"),
        "Length of the key in bytes, which compare as unsigned bytes; by default, the key extends to the end of the "
        "record.",
        kind="number", placeholder="BYTES", least=1, project=True,
    ),
    Option(
        "csv", "Input", _ORDERED,
        "The files are CSV: fields may be quoted, and -k counts or names fields. Names imply --header 1.", project=True,
    ),
    Option(
        "csv", "Input", ("join",),
        "The files are CSV: fields may be quoted, and -1, -2 and -j count or name fields. Names imply --header.",
        project=True,
    ),
    Option(
        "quotes", "Input", _KEYED,
        "The meaning of quotes in CSV. csv: quotes enclose fields, and a quote in a field is written twice. none: "
        "quotes are text. backslash: as csv, and a quote, separator or backslash after a backslash is text.",
        kind="text", choices=("csv", "none", "backslash"), default="csv", project=True,
    ),
    Option(
        "line-ends", "Input", _KEYED,
        "End all lines of the output in the same way: as the first line of the inputs (first), in a newline (lf), or "
        "in a carriage return and a newline (crlf). Inputs may end lines both ways; their carriage returns do not "
        "count.",
        kind="text", choices=("first", "lf", "crlf"), project=True,
    ),
    Option(
        "record-start", "Input", _ORDERED,
        "Items are records of several lines. A record begins with each line that has a time, or that REGEX matches, a "
        "POSIX extended regular expression. Keys lie in the first line of a record.",
        kind="text", placeholder="time|REGEX",
        not_with=(NotWith(("zero-terminated", "csv"),),),
    ),
    Option(
        "header", "Input", ("join",),
        "The first line of each file is its header. The joined headers are written first.", gnu=True,
    ),
    Option(
        "header-prefix", "Input", ("join",),
        "All first lines of a file that begin with TEXT are its header, as in VCF with '#'. With --header, the next "
        "line belongs to it, too. The lines of A are written first. Column names are in the last line of the header, "
        "and are joined.",
        kind="text", placeholder="TEXT",
    ),
    Option(
        "header", "Input", ("merge", *COMBINING, "sort"),
        "Each file begins with N lines of header. The output begins with the header of the first file.",
        kind="number", default=0,
    ),
    Option(
        "header", "Input", ("rank",),
        "Each file begins with N lines of header. What --range writes begins with the header of the first file.",
        kind="number", default=0,
    ),
    Option(
        "header", "Input", ("check", "path"), "Each file begins with N lines of header.", kind="number", default=0,
    ),
    Option(
        "header-prefix", "Input", _ORDERED,
        "All first lines of a file that begin with TEXT are its header, as in VCF with '#' and in SAM with @. With "
        "--header N, the next N lines belong to it, too. Column names are in the last line of the header.",
        kind="text", placeholder="TEXT",
    ),
    Option(
        "headers", "Input", _ORDERED,
        "The header of the output if the files have different headers: identical makes this an error, first takes the "
        "header of the first file, and union has each line of all headers once, the line of columns last. In a union, "
        "two definitions of one ID, as in VCF and SAM, must be equal.",
        kind="text", choices=("identical", "first", "union"), default="identical",
    ),
    Option(
        "schema", "Input", _ORDERED,
        "The columns of the output if the columns of CSV files or tables differ, or come in another order. Columns are "
        "matched by their names. union: the columns of all files, empty or null where a file lacks them. intersect: "
        "only the columns that all files have. Every file needs the columns of keys. By default, all files must have "
        "the same columns.",
        kind="text", choices=("same", "union", "intersect"), default="same",
    ),
    Option(
        "zero-terminated", "Input", _KEYED, "Lines end with NUL, not with newline.", letter="z", gnu=True, project=True,
    ),
    Option(
        "compressed", "Input", ("sort",), "Files whose names end in .gz, .bgz, .bz2, .xz or .zst are compressed.",
        project=True,
    ),
    Option(
        "check", "Input", ("merge", *COMBINING, "rank"),
        "Check the order of the inputs while they are merged, or do not.",
        default=True, off="no-check",
    ),
    Option(
        "count", "Output", ("generate",),
        "Items in each file: 1500000, 1e6, 10M (millions) or 2^28.",
        letter="c", kind="count", default="1M",
    ),
    Option(
        "shape", "Output", ("generate",),
        "The way in which the keys of the files interleave.",
        kind="text", choices=("uniform", "few", "equal", "disjoint", "blocky", "one-sided"), default="uniform",
    ),
    Option("seed", "Output", ("generate",), "The same seed makes the same files.", kind="number", default=0),
    Option("sorted", "Output", ("generate",), "Whether the files are in order.", default=True, off="shuffled"),
)  # fmt: skip

ORDER = (
    Option(
        "field", "Order", _ORDERED,
        "Keys by name, as city,amount:r: columns of CSV, fields of structured .npy files or of a --dtype with fields, "
        "or paths in JSON Lines, as user.name. After a colon: any -k option letters; only r for records; or a kind, as "
        "id:hex or id:hex,r (a column named r then needs its own --field). Column names imply --csv and --header 1, "
        "unless the suffix means binary items; the header may come from a pipe. A name in the header is a name, even "
        "if it looks like a number. Keys of --field and -k apply in the order of the command line.",
        brief="Keys by name, as city,amount:n: columns, fields, JSON paths.",
        kind="text", placeholder="NAMES", multiple=True, formerly=("key-field",), project=True,
    ),
    Option(
        "field", "Order", ("info",),
        "The key of tables, as city or a.b:r. By default, the order that the first table states.",
        kind="text", placeholder="NAMES", multiple=True, project=True,
        needs=Needs(("files",), "{option} is a key of tables", "name some"),
    ),
    Option(
        "nulls", "Order", ("info",), "The place of nulls in the order; last by default.",
        kind="text", choices=("first", "last"), project=True,
        needs=Needs(("files",), "{option} is about tables", "name some"),
    ),
    Option(
        "field", "Order", ("generate",),
        "The key by its name: a field of structured .npy files, or of a --dtype with fields.",
        kind="text", placeholder="NAME", multiple=True, formerly=("key-field",), project=True,
    ),
    Option(
        "key", "Order", _ORDERED,
        "A key of lines, F[.C][OPTIONS][,F[.C][OPTIONS]]: from character C of field F, both counted from 1, to "
        "character C of a second field, or to the end of the line. Character 0 of the second field is the field's end. "
        f"OPTIONS are letters from {LETTERS}, in place of the global ones. After a colon: a kind, {_KINDS}, and r "
        "after a comma, as 2,2:hex,r. May be given again, for ties.",
        brief="A key of lines, as 2,2n: field 2, as a number.",
        letter="k", kind="text", placeholder="KEY", multiple=True, gnu=True,
        formerly=("sort-key",), project=True,
    ),
    Option(
        "field-separator", "Order", _ORDERED,
        "The text between fields, as , or ||; \\0 for NUL, \\t for a tab; by default a field begins with its blanks.",
        brief="The text between fields, as , or \\t.",
        letter="t", kind="text", placeholder="SEPARATOR", gnu=True, project=True,
    ),
    Option(
        "field-separator", "Order", ("join",),
        "The text between fields, as , or ||; \\0 for NUL, \\t for a tab; '' if a whole line is one field. By default "
        "blanks separate fields, however many, and one space is written.",
        brief="The text between fields, as , or \\t.",
        letter="t", kind="text", placeholder="SEPARATOR", gnu=True, project=True,
    ),
    Option(
        "ignore-case", "Order", ("join",), "Lower case counts as upper case.", letter="i", gnu=True, project=True,
    ),
    Option(
        "ignore-leading-blanks", "Order", _ORDERED, "Blanks before a key do not count.", letter="b", gnu=True,
        project=True,
    ),
    Option(
        "dictionary-order", "Order", _KEYED, "Only blanks, letters and digits count.", letter="d", gnu=True,
        project=True,
    ),
    Option("ignore-case", "Order", _ORDERED, "Lower case counts as upper case.", letter="f", gnu=True, project=True),
    Option(
        "general-numeric-sort", "Order", _KEYED,
        "Lines are in the order of their leading numbers, as 1e3, inf or 0x1p4.",
        letter="g", gnu=True, project=True,
    ),
    Option(
        "human-numeric-sort", "Order", _KEYED,
        "Lines are in the order of their leading sizes, as 2K or 1G.",
        letter="h", gnu=True, project=True,
    ),
    Option(
        "ignore-nonprinting", "Order", _ORDERED, "Only printable characters count.", letter="i", gnu=True, project=True,
    ),
    Option(
        "month-sort", "Order", _KEYED,
        "Lines are in the order of their leading months: unknown < JAN < ... < DEC.",
        letter="M", gnu=True, project=True,
    ),
    Option(
        "numeric-sort", "Order", _KEYED,
        "Lines are in the order of their leading numbers, which may have any length.",
        brief="By the leading numbers of lines.",
        letter="n", gnu=True, project=True,
    ),
    Option(
        "numeric-sort", "Order", ("generate",),
        "Lines are signed numbers in numeric order; otherwise zero-padded, so bytewise.",
        letter="n", gnu=True, project=True,
    ),
    Option(
        "random-sort", "Order", _ORDERED, "Lines are in the order of their keys' hashes.", letter="R", gnu=True,
        project=True,
    ),
    Option(
        "random-source", "Order", _ORDERED,
        "FILE seeds the hash of -R, so that the same file gives the same order.",
        kind="file", gnu=True, project=True,
    ),
    Option(
        "reverse", "Order", (*_TYPED, "join"), "The order is descending. Ties keep input order.",
        brief="In descending order.",
        letter="r", gnu=True, project=True,
    ),
    Option(
        "version-sort", "Order", _KEYED,
        "Lines are in the order of the versions in them: 1.9 < 1.10.",
        letter="V", gnu=True, project=True,
    ),
    Option(
        "sort", "Order", _ORDERED,
        f"The order as a word: {', '.join(_SHOWN_WORDS[:-1])} or {_SHOWN_WORDS[-1]}.",
        kind="text", placeholder="WORD", choices=_SORT_WORDS, gnu=True, gnu_again="last", project=True,
    ),
    Option(
        "nulls", "Order", _KEYED,
        "The place of keys that are empty or in --null-values, whatever -r says. By default it is last for kinds after "
        "a colon, and for nulls of tables and JSON. For other keys, an empty key is then an ordinary key.",
        kind="text", choices=("first", "last"), project=True,
    ),
    Option(
        "null-values", "Order", _KEYED,
        "Texts that count as nulls, as empty keys do, with commas between them: NA,null. Without --nulls they go last.",
        kind="text", placeholder="LIST", multiple=True, project=True,
    ),
    Option(
        "invalid", "Order", _KEYED,
        "The place of keys that are not a value of the kind after a colon. By default they are an error.",
        kind="text", choices=("error", "first", "last"), project=True,
    ),
    Option(
        "thousands", "Order", _KEYED,
        "The byte between digits of numbers, for n, h and g: --thousands , reads 1,234.50.",
        kind="text", placeholder="BYTE", project=True,
    ),
    Option(
        "decimal", "Order", _KEYED,
        "The byte before a number's fraction, for n, h and g: --decimal , reads 1234,50. A point by default.",
        kind="text", placeholder="BYTE", project=True,
    ),
    Option(
        "locale", "Order", _KEYED,
        "Text compares as in the locale NAME, as de_DE.UTF-8, and numbers and months are read as it writes them; env "
        "is the locale of LC_ALL, LC_COLLATE or LANG. By default bytes compare, as in the locale C.",
        kind="text", placeholder="NAME|env", neutral=True,
    ),
    Option(
        "order-list", "Order", _KEYED,
        "FILE has the values of list keys, one a line, in their order. Other values come after them.",
        kind="file",
    ),
    Option(
        "time", "Order", _ORDERED,
        "Lines are in the order of the first time in each, as access logs, syslog, ISO 8601 and others write it; forms "
        "may differ. The same as --sort log-time, but lines with equal times keep their order.",
        not_with=(
            NotWith(("key", "field", "sort", *_KIND_OPTIONS), "{option} and {other} both say what is compared"),
            NotWith(
                ("last-resort",), "{option} leaves lines with equal times in their order, and {other} does not",
                "leave {other} out, or use --sort log-time in place of {option}",
            ),
        ),
    ),
    Option(
        "time-format", "Order", _KEYED,
        "The form of times, in strptime's letters, as %d/%m/%Y. By default the usual forms are known.",
        kind="text", placeholder="FORMAT", project=True,
    ),
    Option(
        "zone", "Order", _KEYED,
        "The zone of times without one, as Europe/Berlin; UTC by default.",
        kind="text", placeholder="NAME", project=True,
    ),
    Option(
        "year", "Order", _KEYED,
        "The year of times without one, as in syslog. By default, the latest year in which these times are at most a "
        "day after the last change of the newest file.",
        kind="number", placeholder="YEAR", least=1, project=True,
    ),
    Option(
        "stable", "Order", ("sort",),
        "Lines with equal keys keep their order. Without this option all their bytes decide.",
        letter="s", gnu=True, project=True,
    ),
    Option(
        "stable", "Order", _STABLE,
        "Changes nothing, because lines with equal keys keep the order of the inputs anyway. It may be given as for "
        "sort.",
        letter="s", gnu=True, project=True,
    ),
    Option(
        "stable", "Order", ("join",),
        "Changes nothing, because a join compares only keys. It may be given as for sort.",
        letter="s", gnu=True, project=True,
    ),
    Option(
        "last-resort", "Order", ("sort",),
        "All bytes decide between lines with equal keys. This is the default, so it cannot be combined with -s.",
        project=True,
        not_with=(NotWith(("stable",), "{other} and {option} contradict each other", "leave one of them out"),),
    ),
    Option(
        "last-resort", "Order", ("join",),
        "Changes nothing, because a join compares only keys: the files may be in the order of GNU sort, with -s or "
        "without.",
        project=True,
    ),
    Option(
        "last-resort", "Order", ("merge", "check"),
        "All bytes decide between lines with equal keys, as in GNU sort without -s. With -u, keys alone decide.",
        project=True,
    ),
    Option(
        "last-resort", "Order", ("path", "rank"),
        "All bytes decide between lines with equal keys, as in GNU sort without -s.",
        project=True,
    ),
    Option(
        "last-resort", "Order", COMBINING,
        "All bytes decide between lines with equal keys, as in GNU sort without -s. Then lines are equal only if all "
        "their bytes are.",
        project=True,
    ),
    Option(
        "distinct", "Order", SETS, "Treat equal items of a file as one item. Then each item is written at most once.",
        not_with=_ONE_OF_EQUALS,
    ),
    Option(
        "unique", "Order", ("merge",),
        "Write only the first of several equal items; with --unique=last the last one, from the last file that has it.",
        brief="Write one of several equal items.",
        letter="u", choices=("first", "last"), gnu=True,
    ),
    Option(
        "unique", "Order", ("sort",),
        "Write only the first of several lines with equal keys; with --unique=last the last one, in the order of the "
        "input. With -c, such lines are in disorder.",
        brief="Write one of several lines with equal keys.",
        letter="u", choices=("first", "last"), gnu=True,
    ),
    Option(
        "only", "Order", ("merge", "sort"),
        "Write only items that have equals, or only items that have none. duplicates: the first of several equal "
        "items, as uniq -d. all-duplicates: all of several equal items, as uniq -D. singles: items that equal no "
        "other, as uniq -u. Lines are equal if their keys are equal. With sort -m, disorder is an error.",
        kind="text", choices=("duplicates", "all-duplicates", "singles"),
        not_with=(NotWith(("unique",), "{other} keeps one of equal items, and {option} chooses among them"),),
    ),
    Option(
        "keep-order", "Order", ("sort",),
        "With --unique or --only: do not sort, but write the remaining items in the order of the input. --unique keeps "
        "each item where it is first seen, --unique=last where it is last seen. gpumerge dedupe stands for sort "
        "--unique --keep-order --compressed.",
        not_with=(
            NotWith(("merge", "check", "check-quiet", "debug", "compare"), way_out=_KEPT_ORDER, settings=False),
            NotWith(
                ("count", "count-to", "source", "parts", "sum", "counted"), "{other} cannot be combined with {option}",
                _KEPT_ORDER,
            ),
            NotWith(("head", "tail"), "{other} is for sorted outputs", _KEPT_ORDER, settings=False),
            NotWith(("compress-program", "run-log"), "{other} is for sorts that make sorted runs", settings=False),
        ),
        needs=Needs(
            ("unique", "only"), "{option} needs a rule for equal items",
            "add --unique or --only, or leave {option} out",
        ),
    ),
    Option(
        "unique", "Order", ("check",),
        "Equal items are in disorder, too, as in sort -cu.",
        letter="u", gnu=True,
    ),
)  # fmt: skip
