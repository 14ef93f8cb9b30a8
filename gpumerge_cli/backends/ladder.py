"""The names of all kernel variants, read from the names of their files, so --help loads none of them.

A variant's file is backends/variants/rungN_NAME.py, where N is its place on the ladder.
"""

from __future__ import annotations

import os

VARIANTS_FOLDER = os.path.join(os.path.dirname(__file__), "variants")


def _rungs() -> dict[str, str]:
    found = {}
    for file in os.listdir(VARIANTS_FOLDER):
        number, _, name = file.removeprefix("rung").removesuffix(".py").partition("_")
        if number.isdecimal() and file == f"rung{number}_{name}.py":
            found[int(number), name] = file
    return {name: found[number, name].removesuffix(".py") for number, name in sorted(found)}


VARIANT_MODULES = _rungs()
"""The modules in backends.variants that register variants, by the variants' names, the simplest first."""
KERNELS: tuple[str, ...] = tuple(VARIANT_MODULES)
