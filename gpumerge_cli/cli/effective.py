"""Every setting in effect, and where it came from: gpumerge info --config."""

from __future__ import annotations

import os

from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.setting_files import project_file, user_file
from gpumerge_cli.cli.settings import Settings, variable_name
from gpumerge_cli.dataclass import dataclass

DEFAULT = "default"
_LONGEST = 40
"""The most characters of a column; longer texts stand over its edge."""


@dataclass(frozen=True)
class EffectiveSetting:
    """The value of a setting for some commands."""

    name: str
    value: str
    """As text."""
    source: str
    """See Setting; "default" if nothing sets it."""
    variable: str
    """The environment variable that sets it."""
    commands: list[str]


@dataclass(frozen=True)
class EffectiveSettings:
    """The configuration files, and the settings in effect."""

    project: str | None
    """The project's file; None if there is none."""
    user: str
    """The user's file."""
    user_exists: bool
    settings: list[EffectiveSetting]

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        user = self.user if self.user_exists else None
        return {
            "files": {"project": self.project, "user": user, "user_place": self.user},
            "settings": [
                {
                    "setting": one.name,
                    "value": one.value,
                    "from": one.source,
                    "variable": one.variable,
                    "commands": one.commands,
                }
                for one in self.settings
            ],
        }


def effective_settings(settings: Settings) -> EffectiveSettings:
    """The settings in effect for each command. Raises UsageError or InputError for an invalid setting."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for command in COMMANDS:
        for option in command.options:
            if option.settable:
                found = settings.find(command.name, option)
                value, source = (option.initial, DEFAULT) if found is None else (found[0], found[1].source)
                variable = variable_name(option.name, "" if option.shared else command.name)
                rows.setdefault((option.name, _shown(value), source, variable), []).append(command.name)
    user = user_file(settings.environ)
    found_rows = [EffectiveSetting(*row, commands) for row, commands in sorted(rows.items())]
    return EffectiveSettings(project_file(), user, os.path.isfile(user), found_rows)


def show_effective(config: EffectiveSettings) -> None:
    """Print the settings on standard output, each on one line however long it is, with changed ones in bold."""
    from rich.text import Text

    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.units import visible

    console = PlainConsole()
    console.print(f"project: {visible(config.project or '') or 'no gpumerge.toml here or above'}", soft_wrap=True)
    missing = "" if config.user_exists else ", which does not exist"
    console.print(f"user: {visible(config.user)}{missing}", soft_wrap=True)
    rows = [["setting", "value", "from", "commands"]]
    for row in config.settings:
        shown = row.name, row.value, row.source, ", ".join(row.commands)
        rows.append([*map(visible, shown)])
    widths = [min(_LONGEST, max(map(len, column))) for column in zip(*rows, strict=True)][:-1]
    for number, cells in enumerate(rows):
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        style = "" if number and cells[2] == DEFAULT else "bold"
        console.print(Text("  ".join([*padded, cells[-1]]), style=style), soft_wrap=True)


def _shown(value: object) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
