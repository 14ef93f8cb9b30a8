"""The CUDA sources: their folder, one flat string for each kernel file, and the macros that fit them to an order.

The strings are flat because CuPy's cache of kernels does not look into included files. It would miss an edited header.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.launch import LaunchPolicy, Transfer
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

_INCLUDE = re.compile(r'^#include "((?:\.\./)?\w+\.(?:cuh|h))"\n', re.MULTILINE)
_ONCE = re.compile(r"^#pragma once\n", re.MULTILINE)
_SMALL_RECORDS = (4, 8, 12, 16)
RunsForm = Literal["table", "level", "groups"]
"""The form in which kernels get runs: a table of up to 16, a level of a sort, or groups of runs that lie anywhere."""
_FORMS: dict[RunsForm, Macros] = {"table": (), "level": (("BATCHED", 1),), "groups": (("GROUPED", 1),)}


def kernel_directory() -> Path:
    """The folder of the CUDA sources: inside the package (a wheel) or beside it (a source tree)."""
    package = Path(__file__).resolve().parents[2]
    for directory in (package / "kernels", package.parent / "kernels"):
        if (directory / "keys.cuh").is_file():
            return directory
    raise DeviceError("the CUDA sources are missing from this installation", way_out="reinstall gpumerge")


@cache
def flatten(name: str) -> str:
    """The text of file `name` of kernels/gpu. The project's headers are written out in place, each once."""
    seen: set[Path] = set()

    def inline(file: Path) -> str:
        text = _ONCE.sub("\n", file.read_text(encoding="utf-8"))
        line_of = [0]
        for match in _INCLUDE.finditer(text):
            line_of.append(text.count("\n", 0, match.end()) + 1)
        resume = iter(line_of[1:])

        def written_out(match: re.Match[str]) -> str:
            header, back = (file.parent / match.group(1)).resolve(), next(resume)
            if header in seen:
                return "\n"
            seen.add(header)
            return f'#line 1 "{header.name}"\n{inline(header)}\n#line {back} "{file.name}"\n'

        return _INCLUDE.sub(written_out, text)

    return f'#line 1 "{name}"\n{inline(kernel_directory() / "gpu" / name)}'


def moves_rows(order: Order) -> bool:
    """Whether rows are merged, and items gathered by them. Keys, and small records with short keys, move whole."""
    return not order.moves_whole(_SMALL_RECORDS)


def comparison_macros(order: Order) -> Macros:
    """The macros of a file that compares and moves items, but does not read the keys inside them.

    If prefixes decide, rows of all records look the same to it, so it is compiled only once for them.
    """
    return order_macros(order.of_prefixes() if moves_rows(order) else order)


def order_macros(order: Order) -> Macros:
    """The macros of keys.cuh and lines.cuh. Orders of lines whose keys compare in the same ways share them."""
    return order.macros(rows=moves_rows(order))


def lines_order(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The words ahead of the starts of lines (see lines.cuh): those of LineOrder.table(), then their number."""
    return np.append(words, np.int64(len(words)))


def row_macros(order: Order) -> Macros:
    """The macros of rows.cu. It makes rows of keys and small records too, for sorts of ranks."""
    if moves_rows(order):
        return order_macros(order)
    return order.macros(rows=True)


def text_macros() -> Macros:
    """The macros of text.cu, which serves all orders of lines."""
    return order_macros(Order.lines())


def policy_macros(policy: LaunchPolicy, form: RunsForm = "table") -> Macros:
    """The macros of the kernel that the policy launches."""
    return (*_FORMS[form], *variant_named(policy.kernel).gpu.macros(policy))


def run_macros(fan_in: int, form: RunsForm = "table") -> Macros:
    """The macros of runs.cuh."""
    return (("RUNS", fan_in), *_FORMS[form])


def tile_macros(block_size: int, items_per_thread: int, resident: int, transfer: Transfer | None) -> Macros:
    """The macros of sort_tile.cu."""
    return (*shape_macros(block_size, items_per_thread, resident), ("BULK", int(transfer == "bulk")))


def digit_macros(passes: int, *, wide: bool, pairs: bool) -> Macros:
    """The macros of count_digits.cu and sort_radix.cu."""
    return ("PASSES", passes), ("WIDE", int(wide)), ("PAIRS", int(pairs))


def walk_macros(equals: Equals, *, bulk: bool) -> Macros:
    """The macros of walk.cu."""
    return ("EQUALS", equals.value), ("BULK", int(bulk))


def shape_macros(block_size: int, items_per_thread: int, resident: int) -> Macros:
    """The macros of the shape of a block."""
    return (
        ("BLOCK_SIZE", block_size),
        ("ITEMS_PER_THREAD", items_per_thread),
        ("BLOCKS_PER_MULTIPROCESSOR", resident),
    )


def column_macros(columns: int, value_bytes: int, unit: int, *, reads: bool, writes: bool) -> Macros:
    """The macros of columns.cuh, of a kernel that reads or writes columns."""
    return (
        ("FROM_COLUMNS", int(reads)),
        ("TO_COLUMNS", int(writes)),
        ("COLUMNS", columns),
        ("VALUE_SIZE", value_bytes),
        ("VALUE_UNIT", unit),
    )


def compiler_options(macros: Macros) -> tuple[str, ...]:
    """The macros as NVRTC's options."""
    return tuple(f"-D{name}={value}" for name, value in macros)
