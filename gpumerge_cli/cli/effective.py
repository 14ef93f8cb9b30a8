"""Every setting in effect, and where it came from: gpumerge info --config."""

from __future__ import annotations

import os
from typing import Any

from gpumerge_cli.cli.options import COMMANDS
from gpumerge_cli.cli.places import project_file, user_file
from gpumerge_cli.cli.settings import Settings, variable_name

DEFAULT = "default"
_LONGEST = 40
"""The most characters that a variable's name has."""


def effective(settings: Settings) -> dict[str, Any]:
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
    """Print the settings as a table on standard output, with changed ones in bold."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.units import visible

    console = PlainConsole()
    files = facts["files"]
    console.print(f"project: {visible(files['project'] or '') or 'no gpumerge.toml here or above'}", soft_wrap=True)
    console.print(
        f"user: {visible(files['user_place'])}{'' if files['user'] else ', which is not there'}", soft_wrap=True
    )
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    rows = [(row["setting"], row["value"], row["from"], ", ".join(row["commands"])) for row in facts["settings"]]
    for at, name in enumerate(("setting", "value", "from", "commands")):
        # Names stay whole; paths of files may be longer than there is room for.
        whole = min(_LONGEST, max(len(row[at]) for row in rows)) if name in ("setting", "from") else None
        table.add_column(name, overflow="fold", width=whole)
    for cells in rows:
        table.add_row(*(Text(visible(cell)) for cell in cells), style="" if cells[2] == DEFAULT else "bold")
    console.print(table)


def _shown(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
