"""The manual, made from what help is made of: pages in Markdown, man pages, completions.

    python -m gpumerge_cli.cli.manual

writes them to data/manual/commands, data/man and data/completions of the working tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpumerge_cli.cli.completion import bash, fish, zsh
from gpumerge_cli.cli.help import option_help
from gpumerge_cli.cli.manpage import man_name, man_page
from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.options.model import GROUPS, Command, Option
from gpumerge_cli.cli.settings import variable_name


def pages() -> dict[str, str]:
    """Every file that is made: its path below data, and its text."""
    made = {f"manual/commands/{command.name}.md": markdown(command) for command in COMMANDS[1:]}
    made |= {f"man/{man_name(command)}.1": man_page(command) for command in COMMANDS}
    made |= {"completions/gpumerge": bash(), "completions/_gpumerge": zsh(), "completions/gpumerge.fish": fish()}
    return made


def markdown(command: Command) -> str:
    """A command's page."""
    return "\n".join(_lines(command)).rstrip() + "\n"


def _lines(command: Command) -> Iterator[str]:
    yield f"# gpumerge {command.name}"
    yield "\n```text\n" + f"gpumerge {command.name} {command.usage}".strip() + "\n```"
    yield from _paragraphs(command.about)
    if command.arguments:
        yield ""
        yield from (f"- `{one.metavar}`: {one.help}" for one in command.arguments)
    if command.examples:
        yield "\n## Examples"
        for line, about in command.examples:
            yield f"\n{about}\n\n```\n{line}\n```"
    for group in GROUPS:
        options = [option for option in command.options if option.group == group]
        if options:
            yield f"\n## {group}\n\n| option | |\n|---|---|"
            yield from (f"| {_written(option)} | {_cell(option_help(option))} |" for option in options)
    yield "\n## Settings\n\n" + _settable(command)
    of_projects = [f"`{option.name}`" for option in command.options if option.settable and option.project]
    if of_projects:
        yield f"\nA project's file may set {_listed(of_projects)}."
    if command.epilog:
        yield "\n## Notes"
        yield from _paragraphs(command.epilog)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield "\n```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```"
        else:
            yield "\n" + paragraph.replace("\n", " ")


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _written(option: Option) -> str:
    names = [*option.shown_names, *option.off_names]
    if option.takes_value or option.may_have_value:
        value = f"[={option.metavar}]" if option.may_have_value else f" {option.metavar}"
        names[len(option.shown_names) - 1] += _cell(value)
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    """`text` where a bar would end the table's cell, and an angle bracket may begin a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _settable(command: Command) -> str:
    if command.name != "sort":
        names = [option.name for option in command.options if option.settable]
        name = "threads" if "threads" in names else names[0]
        never = [f"`{option.names[0]}`" for option in command.options if not option.settable and option.name != "help"]
        every = f"Every option but {' and '.join(never)}" if never else "Every option"
        return (
            f"{every} can also be [set](../configuration.md) by the environment or a configuration file: "
            f"`--{name}` by `{variable_name(name)}`, for {command.name} alone by `{variable_name(name, command.name)}`."
        )
    names = [f"`{name}`" for option in command.options if option.settable for name in option.setting_names]
    return (
        f"Of these, {', '.join(names[:-1])} and {names[-1]} can be [set](../configuration.md) by the environment or a "
        "configuration file: none of them changes the output. Only the command line sets the other ones, so that a "
        "script that calls sort gets what it asks for."
    )


def write_manual() -> None:
    folder = Path(__file__).parents[2] / "data"
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write_manual()
