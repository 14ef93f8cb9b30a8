"""Settings as tests look at them."""

from __future__ import annotations

from gpumerge_cli.cli.options.commands import options_of
from gpumerge_cli.cli.settings import Settings


def used(command: str, name: str) -> tuple[object, str]:
    """The setting of an option and the name of its source, without folders."""
    settings = Settings()
    option = next(option for option in options_of(command) if option.name == name)
    found = settings.find(command, option)
    return (None, "") if found is None else (found[0], found[1].source.rpartition("/")[2])
