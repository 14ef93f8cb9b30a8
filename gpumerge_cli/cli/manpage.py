"""Man pages, in the macros of man(7)."""

from __future__ import annotations

from collections.abc import Iterator

from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.options.model import GROUPS, Command, Option

_ENVIRONMENT = """\
Every option that changes how work is done can be set by a variable: GPUMERGE_THREADS sets --threads of every command
that has it, GPUMERGE_MERGE_THREADS that of merge. An option without a value takes 1 or 0. For sort, only options that
do not change the output can be set.

GPUMERGE_CPU_LEVEL chooses the CPU's library: x86-64-v2, v3 or v4. GPUMERGE_CCCL is the folder of
CCCL's headers, for bench. NO_COLOR, TERM=dumb and FORCE_COLOR are honoured. TMPDIR is the folder of temporary
files. XDG_CONFIG_HOME and XDG_CACHE_HOME are the folders of configuration files and of info --measure's results."""

_FILES = (
    ("gpumerge.toml", "Settings of a project: in the current folder, or the nearest above it that has one."),
    ("$XDG_CONFIG_HOME/gpumerge/config.toml", "Settings of the user; by default in ~/.config/gpumerge."),
)

_CONFIGURATION = """\
Files are TOML: keys are the long names of options; those in a table named after a command are for that command. The
command line wins over the environment, that over the project's file, that over the user's. gpumerge info --config shows
the source of each setting."""


def man_name(command: Command) -> str:
    """The name of the page: "gpumerge-merge"."""
    return command.path.replace(" ", "-")


def man_page(command: Command) -> str:
    """The page of a command, in section 1; that of gpumerge itself lists the commands."""
    name = man_name(command)
    lines = [*_head(name.upper()), ".SH NAME", _text(f"{name} - {_first_word_small(command.summary)}"), ".SH SYNOPSIS"]
    lines += [f"\\fB{_text(command.path)}\\fR {_text(command.usage)}", ".SH DESCRIPTION", *_paragraphs(command.about)]
    for argument in command.arguments:
        lines += [".TP", f"\\fI{_text(argument.metavar)}\\fR", _text(argument.help)]
    lines += _examples(command)
    if not command.name:
        lines.append(".SH COMMANDS")
        for one in COMMANDS[1:]:
            lines += [".TP", f"\\fB{_text(man_name(one))}\\fR(1)", _text(one.summary)]
    lines += [".SH OPTIONS", *_options(command)]
    if command.epilog:
        lines += [".SH NOTES", *_paragraphs(command.epilog)]
    others = ["sort(1)"] if command.name in ("", "sort") else []
    see = [f"{man_name(one)}(1)" for one in COMMANDS if one is not command]
    shown = (f"\\fB{_text(page[:-3])}\\fR(1)" for page in (*see, *others))
    return "\n".join([*lines, *_settings(), ".SH SEE ALSO", ", ".join(shown)]) + "\n"


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
    for group in GROUPS:
        options = [option for option in command.options if option.group == group]
        if options:
            yield f".SS {_text(group)}"
        for option in options:
            yield from (".TP", _names(option), _text(option.help))


def _names(option: Option) -> str:
    names = [f"\\fB{_text(name)}\\fR" for name in (*option.shown_names, *option.off_names)]
    if option.takes_value or option.may_have_value:
        value = f"=\\fI{_text(option.metavar)}\\fR"
        names[len(option.shown_names) - 1] += f"[{value}]" if option.may_have_value else value
    return ", ".join(names)


def _examples(command: Command) -> Iterator[str]:
    if command.examples:
        yield ".SH EXAMPLES"
    for line, about in command.examples:
        yield from (".PP", _text(about), ".PP", ".RS 4", ".nf", _text(line), ".fi", ".RE")


def _settings() -> Iterator[str]:
    yield from (".SH ENVIRONMENT", *_paragraphs(_ENVIRONMENT), ".SH FILES")
    for name, about in _FILES:
        yield from (".TP", f"\\fI{_text(name)}\\fR", _text(about))
    yield from _paragraphs(_CONFIGURATION)
