"""The options of all commands as data: one row each, from which everything that reads or shows options is made.

Heavy modules are not imported here: `--help` pays for every import.
"""

from __future__ import annotations

from gpumerge_cli.cli.options.commands import COMMANDS, NAMES, command, options_of
from gpumerge_cli.cli.options.model import GROUPS, Argument, Command, Option

__all__ = ["COMMANDS", "GROUPS", "NAMES", "Argument", "Command", "Option", "command", "options_of"]
