"""Names that people try for commands: short names of command lines, and names that another command answers."""

from __future__ import annotations

from collections.abc import Sequence

SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "comm": ("compare",),
    "dedupe": ("sort", "--compressed", "--keep-order", "--unique"),
}
"""The words that each name stands for. dedupe leaves --unique out where the command line says which items it keeps."""

_HEAD = "use gpumerge merge --head N for sorted files, or gpumerge sort --head N for others"
_TAIL = "use gpumerge merge --tail N for sorted files, or gpumerge sort --tail N for others"
_UNIQUE = "use gpumerge merge --unique for sorted files, or gpumerge dedupe to keep the order of others"
_QUANTILE = "use gpumerge rank --quantile 0.5 for sorted files; 0.99 is the 99th percentile"
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
    "split": "use gpumerge merge --parts N",
    "devices": "use gpumerge info", "version": "use gpumerge --version",
}  # fmt: skip
"""The way out for each name that is no command."""
_KEPT = ("unique", "only")  # the options that say which of equal items dedupe keeps


def spelled_out(arguments: Sequence[str]) -> Sequence[str]:
    """The command line that `arguments` stand for: `help NAME` and short names are spelled out."""
    name, *words = arguments or ("",)
    if name == "--" and words and words[0] in ("help", *SHORT_NAMES):  # the end of gpumerge's own options
        return spelled_out(words)
    if name == "help" and len(words) <= 1:
        from gpumerge_cli.cli.options.commands import COMMAND_NAMES

        known = not words or words[0] in COMMAND_NAMES or words[0] in SHORT_NAMES
        return spelled_out([*words, "--help"]) if known else words
    if name not in SHORT_NAMES:
        return arguments
    meant = SHORT_NAMES[name]
    if name == "dedupe" and _says_what_it_keeps(words):
        meant = tuple(word for word in meant if word != "--unique")
    if words == ["--help"]:
        meant = meant[:1]
    return [*meant, *words]


def short_names() -> str:
    """The short names and what they stand for, for help."""
    rows = (f"  {name:<12}gpumerge {' '.join(words)}" for name, words in SHORT_NAMES.items())
    return "\n".join(("\b", "Short names:", *rows, "  help NAME   gpumerge NAME --help"))


def _says_what_it_keeps(words: Sequence[str]) -> bool:
    from gpumerge_cli.cli.options.commands import command
    from gpumerge_cli.cli.scan import last_value

    row = command("sort")
    return any(last_value(row, words, row.option(name)) is not None for name in _KEPT)
