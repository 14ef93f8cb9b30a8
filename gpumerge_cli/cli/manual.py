"""The manual, made from what help is made of: pages in Markdown, man pages, completions.

    python -m gpumerge_cli.cli.manual

writes them to data/manual/commands, data/man and data/completions of the working tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpumerge_cli.cli.commands import Command, Option
from gpumerge_cli.cli.examples import EXAMPLES
from gpumerge_cli.cli.settings import variable_name


def pages() -> dict[str, str]:
    """Every file that is made: its path below data, and its text."""
    from gpumerge_cli.cli.app import all_commands
    from gpumerge_cli.cli.completion import bash, fish, zsh
    from gpumerge_cli.cli.manpage import man_page, sort_man_page

    commands = all_commands()
    made = {f"manual/commands/{command.name}.md": markdown(command) for command in commands[1:]}
    made |= {"man/gpumerge.1": man_page(commands), "man/gpumerge-sort.1": sort_man_page(commands)}
    made |= {
        "completions/gpumerge": bash(commands),
        "completions/_gpumerge": zsh(commands),
        "completions/gpumerge.fish": fish(commands),
    }
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
        yield from (f"- `{name}`: {help}" for name, help in command.arguments)
    if command.name in EXAMPLES:
        yield "\n## Examples"
        for line, about in EXAMPLES[command.name]:
            yield f"\n{about}\n\n```\n{line}\n```"
    group = None
    for option in command.options:
        if option.group != group:
            group = option.group
            yield f"\n## {group or 'Options'}\n\n| option | |\n|---|---|"
        yield f"| {_written(option)} | {_cell(_sentence(option))} |"
    yield "\n## Settings\n\n" + _settable(command)
    if command.epilog:
        yield "\n## Notes"
        yield from _paragraphs(command.epilog)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield "\n```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```"
        else:
            yield "\n" + paragraph.replace("\n", " ")


def _written(option: Option) -> str:
    names = [*reversed(option.names), *option.off]
    if option.value_is_optional:
        return ", ".join((f"`{names[0]}`", f"`{names[-1]}={_cell(option.metavar)}`"))
    names[len(option.names) - 1] += f" {_cell(option.metavar)}" * bool(option.metavar)
    return ", ".join(f"`{name}`" for name in names)


def _sentence(option: Option) -> str:
    shown = option.metavar and option.default not in (None, "", 0) and "default" not in option.help
    return f"{option.help} (default: {option.default})" if shown else option.help


def _cell(text: str) -> str:
    """`text` where a bar would end the table's cell, and an angle bracket may begin a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _settable(command: Command) -> str:
    if all(option.settable or option.name == "help" for option in command.options):
        names = [option.name for option in command.options if option.settable]
        name = "threads" if "threads" in names else names[0]
        return (
            "Every option can also be [set](../configuration.md) by the environment or a configuration file: "
            f"`--{name}` by `{variable_name(name)}`, for {command.name} alone by `{variable_name(name, command.name)}`."
        )
    names = [f"`{name}`" for option in command.options if option.settable for name in option.setting_names]
    return (
        f"Of these, {', '.join(names[:-1])} and {names[-1]} can be [set](../configuration.md) by the environment or a "
        "configuration file: none of them changes what goes out. What does is for the command line alone, so that a "
        "script that calls sort gets what it asks for."
    )


def main() -> None:
    folder = Path(__file__).parents[2] / "data"
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
