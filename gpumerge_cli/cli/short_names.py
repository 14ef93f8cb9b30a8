"""Spells out command lines that begin with a short name or with help."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.cli.help import WHOLE_HELP
from gpumerge_cli.cli.options.commands import COMMAND_NAMES, command
from gpumerge_cli.cli.options.other_names import SHORT_NAME_JOBS, SHORT_NAMES

_KEPT = ("unique", "only")  # the options that say which of equal items dedupe keeps


def spelled_out(arguments: Sequence[str]) -> Sequence[str]:
    """The command line that `arguments` stand for: `help COMMAND` and short names are spelled out."""
    name, *words = arguments or ("",)
    if name == "--" and words and words[0] in ("help", *SHORT_NAMES):  # the end of gpumerge's own options
        return spelled_out(words)
    if name == "help" and not words:
        return ["--help"]
    if name == "help" and len(words) == 1 and words[0] in COMMAND_NAMES:
        return [*words, WHOLE_HELP]
    if name not in SHORT_NAMES:
        return arguments
    meant = SHORT_NAMES[name]
    if name == "dedupe" and _says_what_it_keeps(words):
        meant = tuple(word for word in meant if word != "--unique")
    if words in (["--help"], [WHOLE_HELP]):
        meant = meant[:1]
    return [*meant, *words]


def job_of(arguments: Sequence[str]) -> str:
    """The beginning of the help that `arguments` ask for; "" if they name no short name."""
    name, *words = arguments or ("",)
    if name not in SHORT_NAMES or words not in (["--help"], [WHOLE_HELP]):
        return ""
    return f"{SHORT_NAME_JOBS[name]}\n\nIt stands for gpumerge {' '.join(SHORT_NAMES[name])}:"


def _says_what_it_keeps(words: Sequence[str]) -> bool:
    from gpumerge_cli.cli.scan import last_value

    row = command("sort")
    return any(last_value(row, words, row.option(name)) is not None for name in _KEPT)
