"""The names of all formats, by their files: nothing of them is loaded to answer --help.

A format's file is formats/kinds/NAME_ITEMS.py.
"""

from __future__ import annotations

import os

KINDS_FOLDER = os.path.join(os.path.dirname(__file__), "kinds")
FORMAT_MODULES = {
    file.partition("_")[0]: file.removesuffix(".py")
    for file in sorted(os.listdir(KINDS_FOLDER))
    if file.endswith(".py") and file.find("_") > 0
}
"""By name: the module in formats.kinds that registers it."""
FORMAT_NAMES: tuple[str, ...] = tuple(FORMAT_MODULES)
