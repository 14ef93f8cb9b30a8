"""Names that people try for commands: short names of command lines, and names that another command answers."""

from __future__ import annotations

SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "comm": ("compare",),
    "dedupe": ("sort", "--compressed", "--keep-order", "--unique"),
}
"""The words that each name stands for. dedupe leaves --unique out where the command line says which items it keeps."""

SHORT_NAME_JOBS: dict[str, str] = {
    "comm": """\
gpumerge comm shows which lines are in one of two sorted files, or in both.

Examples:
  gpumerge comm a.txt b.txt
  gpumerge comm -12 a.txt b.txt""",
    "dedupe": """\
gpumerge dedupe writes each line once, in the order of the inputs.

Examples:
  gpumerge dedupe names.txt
  gpumerge dedupe --field id people.csv
  gpumerge dedupe --unique=last --field id people.csv""",
}
"""The job of each short name, with examples."""

_HEAD = "use gpumerge merge --head N for sorted files, or gpumerge sort --head N for others"
_TAIL = "use gpumerge merge --tail N for sorted files, or gpumerge sort --tail N for others"
_UNIQUE = "use gpumerge merge --unique for sorted files, or gpumerge dedupe for files in any order"
_QUANTILE = "use gpumerge rank --quantile 0.5 for sorted files; 0.99 is the 99th percentile"
_URL = "a URL names a file in a store, as in gpumerge merge s3://BUCKET/a.txt -o sorted.txt"
OTHER_NAMES: dict[str, str] = {
    "top": _HEAD, "topk": _HEAD, "head": _HEAD, "first": _HEAD, "tail": _TAIL, "bottom": _TAIL, "last": _TAIL,
    "uniq": _UNIQUE, "unique": _UNIQUE, "distinct": _UNIQUE, "deduplicate": _UNIQUE,
    "duplicates": "use gpumerge merge --only duplicates for sorted files, or gpumerge sort --only duplicates",
    "count": "use gpumerge merge --count for sorted files, or gpumerge sort --count",
    "median": _QUANTILE, "quantile": _QUANTILE, "percentile": _QUANTILE,
    "intersection": "use gpumerge intersect",
    "except": "use gpumerge difference", "minus": "use gpumerge difference", "subtract": "use gpumerge difference",
    "cat": "use gpumerge merge, which takes sorted files",
    "look": "use gpumerge merge --from KEY --to KEY", "find": "use gpumerge merge --from KEY --to KEY",
    "range": "use gpumerge merge --from KEY --to KEY, or gpumerge rank --range A:B for ranks",
    "shuffle": "use gpumerge sort --random-sort", "shuf": "use gpumerge sort --random-sort",
    "reverse": "use gpumerge sort --reverse", "descending": "use gpumerge sort --reverse",
    "split": "use gpumerge merge --parts N",
    "s3": _URL, "gs": _URL, "azure": _URL, "cloud": _URL, "url": _URL, "http": _URL,
    "devices": "use gpumerge info", "version": "use gpumerge --version",
}  # fmt: skip
"""The way out for each name that is no command."""


def short_names() -> str:
    """The short names and what they stand for, for help."""
    rows = (f"  {name:<12}gpumerge {' '.join(words)}" for name, words in SHORT_NAMES.items())
    return "\n".join(
        (
            "\b",
            "Short names:",
            *rows,
            "  help NAME   gpumerge NAME --help=all",
            "  help WORDS  finds jobs: gpumerge help newest row",
        )
    )
