"""Every setting in effect, and where it came from: gpumerge info --config."""

from __future__ import annotations

import os
from typing import Any

from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.setting_files import project_file, user_file
from gpumerge_cli.cli.settings import Settings, variable_name

DEFAULT = "default"
_LONGEST = 40
"""The most characters of a column; longer texts stand over its edge."""


def effective_settings(settings: Settings) -> dict[str, Any]:
    """The configuration files, existing or not, and the settings in effect for each command.

    Raises UsageError or InputError for a setting that cannot be.
    """
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for command in COMMANDS:
        for option in command.options:
            if option.settable:
                found = settings.find(command.name, option)
                value, source = (option.initial, DEFAULT) if found is None else (found[0], found[1].source)
                variable = variable_name(option.name, "" if option.shared else command.name)
                rows.setdefault((option.name, _shown(value), source, variable), []).append(command.name)
    user = user_file(settings.environ)
    return {
        "files": {"project": project_file(), "user": user if os.path.isfile(user) else None, "user_place": user},
        "settings": [
            {"setting": name, "value": value, "from": source, "variable": variable, "commands": commands}
            for (name, value, source, variable), commands in sorted(rows.items())
        ],
    }


def show_effective(facts: dict[str, Any]) -> None:
    """Print the settings on standard output, each on one line however long it is, with changed ones in bold."""
    from rich.text import Text

    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.units import visible

    console = PlainConsole()
    files = facts["files"]
    console.print(f"project: {visible(files['project'] or '') or 'no gpumerge.toml here or above'}", soft_wrap=True)
    console.print(
        f"user: {visible(files['user_place'])}{'' if files['user'] else ', which does not exist'}", soft_wrap=True
    )
    rows = [["setting", "value", "from", "commands"]]
    for row in facts["settings"]:
        shown = row["setting"], row["value"], row["from"], ", ".join(row["commands"])
        rows.append([*map(visible, shown)])
    widths = [min(_LONGEST, max(map(len, column))) for column in zip(*rows, strict=True)][:-1]
    for number, cells in enumerate(rows):
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        style = "" if number and cells[2] == DEFAULT else "bold"
        console.print(Text("  ".join([*padded, cells[-1]]), style=style), soft_wrap=True)


def _shown(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
