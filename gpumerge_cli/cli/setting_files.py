"""The variables and files that hold settings. Every start of the program reads this, so it imports little."""

from __future__ import annotations

import os
from collections.abc import Mapping

PREFIX = "GPUMERGE_"
PROJECT_FILE = "gpumerge.toml"

_NO_SETTINGS = (f"{PREFIX}TEST_", f"{PREFIX}BUILD_MACHINE", f"{PREFIX}CPU_LEVEL", f"{PREFIX}CCCL")
"""Beginnings of the names of variables for the project's own tests and the CPU's library, which are not settings."""


def set_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that set something."""
    found = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value}
    return {name: value for name, value in found.items() if not name.startswith(_NO_SETTINGS)}


def user_file(environ: Mapping[str, str]) -> str:
    """The user's configuration file, as the XDG base directory specification has it; it need not exist.

    A relative XDG_CONFIG_HOME is ignored, since it would lead to files that came with the current folder.
    """
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "gpumerge", "config.toml")


def project_file() -> str | None:
    """The project's configuration file: in the current folder or the nearest above it that has one.

    If somebody else could have put it there, the result is None, and a warning is printed: they own it, or may write to
    it, to its folder, or to a folder between that and the current one.
    """
    try:
        folder = os.getcwd()
    except OSError:
        return None
    passed = []
    while True:
        passed.append(folder)
        path = os.path.join(folder, PROJECT_FILE)
        if os.path.isfile(path):
            try:
                return path if _is_trusted(path, passed) else None
            except OSError:  # it is gone
                return None
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _is_trusted(path: str, folders: list[str]) -> bool:
    from gpumerge_cli.trust import distrusted, warn_once

    for place in (path, *folders):
        why = distrusted(place, os.stat(place), by_root=True)
        if why:
            warn_once(f"{path} is not read: {why}")
            return False
    return True


def anything_set() -> bool:
    """Whether a variable is set, or a file of settings exists."""
    return bool(set_variables(os.environ)) or os.path.exists(user_file(os.environ)) or project_file() is not None
