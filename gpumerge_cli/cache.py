"""The folder for what the program can make again: compiled code, and what `info --measure` found."""

from __future__ import annotations

import os


def cache_folder() -> str:
    """The user's, as the XDG base directory specification has it; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gpumerge")
