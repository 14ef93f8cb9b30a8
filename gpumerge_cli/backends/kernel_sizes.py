"""The sizes that kernels and host share, read from kernels/gpu/sizes.cuh."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from gpumerge_cli.native.library import entries_file

_DEFINED = re.compile(r"^(?:__device__ )?constexpr int (\w+)(?:\((.*?)\) \{ return (.*); \}| = (.*?);)", re.MULTILINE)


def kernel_size(name: str, *arguments: int) -> int:
    """The constant of this name, or the value of the function. Raises KeyError if there is none."""
    found = sizes()[name]
    return int(found(*arguments) if arguments else found)


@cache
def sizes() -> dict[str, Any]:
    """The constants and the functions of sizes.cuh, by their names."""
    text = (entries_file().parents[1] / "gpu" / "sizes.cuh").read_text("utf-8")
    found: dict[str, Any] = {}
    for name, parameters, returned, constant in _DEFINED.findall(text):
        names = ", ".join(one.split()[-1] for one in parameters.split(",") if one)
        expression = (returned or constant).replace("/", "//")  # no number is negative
        # sizes.cuh is a part of the program, so evaluating its expressions is as safe as importing this module.
        found[name] = eval(f"lambda {names}: {expression}" if returned else expression, found)
    found.pop("__builtins__")
    return found
