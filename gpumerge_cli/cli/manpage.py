"""Man pages, in the macros of man(7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpumerge_cli.cli.commands import Command, Option
from gpumerge_cli.cli.examples import EXAMPLES

_ENVIRONMENT = """\
Every option that changes how work is done can be set by a variable: GPUMERGE_THREADS sets --threads of every command
that has it, GPUMERGE_MERGE_THREADS that of merge. An option without a value takes 1 or 0. Of sort, only options that do
not change what goes out can be set.

GPUMERGE_CPU_LEVEL is which of the CPU's libraries is loaded: x86-64-v2, v3 or v4. NO_COLOR, TERM=dumb and FORCE_COLOR
are honoured. TMPDIR is where temporary files go. XDG_CONFIG_HOME and XDG_CACHE_HOME are where configuration and what
info --measure found lie."""

_FILES = (
    ("gpumerge.toml", "Settings of a project: in the current folder, or the nearest above it that has one."),
    ("$XDG_CONFIG_HOME/gpumerge/config.toml", "Settings of the user; by default in ~/.config/gpumerge."),
)

_CONFIGURATION = """\
Files are TOML: keys are the long names of options; those in a table named after a command are for that command. The
command line wins over the environment, that over the project's file, that over the user's. gpumerge info --config shows
what came from where."""


def man_page(commands: Sequence[Command]) -> str:
    """gpumerge(1): every command but sort, which has a page of its own."""
    own, *others = commands
    lines = [*_head("GPUMERGE"), ".SH NAME", _text("gpumerge - " + _first_word_small(own.summary))]
    lines.append(".SH SYNOPSIS")
    for command in others:
        lines += [".PP", f"\\fBgpumerge {_text(command.name)}\\fR {_text(command.usage)}"]
    lines += [".SH DESCRIPTION", *_paragraphs(own.about), *_options(own)]
    for command in others:
        lines += [f".SH GPUMERGE {command.name.upper()}", *_paragraphs(command.about)]
        if command.name == "sort":
            lines += [".PP", "Its options are those of sort(1), and more: see \\fBgpumerge\\-sort\\fR(1)."]
            continue
        lines += [*_options(command), *_examples(command.name)]
        if command.epilog != own.epilog:
            lines += _paragraphs(command.epilog.replace(own.epilog, ""))
    lines += [".SH SUFFIXES AND EXIT CODES", *_paragraphs(own.epilog), *_settings(), ".SH SEE ALSO"]
    return "\n".join([*lines, "\\fBgpumerge\\-sort\\fR(1), \\fBsort\\fR(1)"]) + "\n"


def sort_man_page(commands: Sequence[Command]) -> str:
    """gpumerge-sort(1)."""
    command = next(command for command in commands if command.name == "sort")
    lines = [*_head("GPUMERGE-SORT"), ".SH NAME", "gpumerge\\-sort \\- sort lines as GNU sort does", ".SH SYNOPSIS"]
    lines += [f"\\fBgpumerge sort\\fR {_text(command.usage)}", ".SH DESCRIPTION", *_paragraphs(command.about)]
    lines += [".SH OPTIONS", *_options(command), *_examples("sort", ".SH"), ".SH EXIT CODES"]
    lines += _paragraphs(command.epilog.removeprefix("Exit codes: "))
    return "\n".join([*lines, *_settings(), ".SH SEE ALSO", "\\fBgpumerge\\fR(1), \\fBsort\\fR(1)"]) + "\n"


def _head(title: str) -> list[str]:
    from gpumerge_cli import __version__

    return [f'.TH {title} 1 "" "gpumerge {__version__}" "User Commands"', ".nh", ".ad l"]


def _first_word_small(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _text(text: str) -> str:
    """`text` as roff shows it: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    text = text.replace("'", "\\(aq").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in filter(None, text.split("\n\n")):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", _text(paragraph.removeprefix("\b").strip("\n")), ".fi")
        else:
            yield from (".PP", _text(paragraph.replace("\n", " ")))


def _options(command: Command) -> Iterator[str]:
    group = ""
    for option in command.options:
        if option.group != group:
            group = option.group
            yield f".SS {_text(group)}"
        yield from (".TP", _names(option), _text(option.help))


def _names(option: Option) -> str:
    names = [f"\\fB{_text(name)}\\fR" for name in (*reversed(option.names), *option.off)]
    if option.metavar:
        at = len(option.names) - 1
        names[at] += (
            f"[=\\fI{_text(option.metavar)}\\fR]" if option.value_is_optional else f"=\\fI{_text(option.metavar)}\\fR"
        )
    return ", ".join(names)


def _examples(name: str, heading: str = ".SS") -> Iterator[str]:
    if name in EXAMPLES:
        yield f"{heading} {'EXAMPLES' if heading == '.SH' else 'Examples'}"
        for line, about in EXAMPLES[name]:
            yield from (".PP", _text(about), ".PP", ".RS 4", ".nf", _text(line), ".fi", ".RE")


def _settings() -> Iterator[str]:
    yield from (".SH ENVIRONMENT", *_paragraphs(_ENVIRONMENT), ".SH FILES")
    for name, about in _FILES:
        yield from (".TP", f"\\fI{_text(name)}\\fR", _text(about))
    yield from _paragraphs(_CONFIGURATION)
