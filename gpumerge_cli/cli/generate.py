"""gpumerge generate: test data with a known shape."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gpumerge_cli.cli import options
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.errors import UsageError

ShapeName = Literal["uniform", "few", "equal", "disjoint", "blocky", "one-sided"]

_NPY_DTYPE = "int32"

_SHAPES = """\b
Shapes, of the files named together:
  uniform    every file over the whole key range
  few        the same with 16 distinct keys
  equal      one key
  disjoint   the files' keys lie one after the other, in the order of FILES
  blocky     the files take turns, in stretches of 1 to 65,536 items
  one-sided  the first over the whole range, the others in a narrow part of it"""

EPILOG = f"{_SHAPES}\n\n{options.SUFFIXES}"


def generate(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files to make; - is standard output.")],
    count: Annotated[
        str,
        typer.Option("--count", "-c", metavar="N", help="Items in each file: 1500000, 1e6, 10M (millions) or 2^28."),
    ] = "1M",
    dtype: options.Dtype = None,
    format: options.Format = None,
    record_size: options.RecordSize = None,
    key_offset: options.KeyOffset = None,
    key_size: options.KeySize = None,
    key: options.KeyField = None,
    shape: Annotated[
        ShapeName,
        typer.Option(
            "--shape",
            metavar="uniform|few|equal|disjoint|blocky|one-sided",
            help="How the keys of the files interleave.",
        ),
    ] = "uniform",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The same seed makes the same files.")] = 0,
    in_order: Annotated[bool, typer.Option("--sorted/--shuffled", help="Whether the files are in order.")] = True,
    numeric_sort: Annotated[
        bool,
        typer.Option(
            "--numeric-sort",
            "-n",
            help="Lines are signed numbers in numeric order; otherwise zero-padded, so bytewise.",
        ),
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", "-r", help="Descending order.")] = False,
    debug: options.Debug = False,
) -> None:
    """Make test files, sorted or shuffled.

    Makes one file for each name. Integers are spread over their whole range, floats over -1 to 1; lines are numbers.
    Keys of records that are bytes are big-endian integers; the records' other bytes look random. A .npy file holds
    int32 unless --dtype says otherwise.
    """
    items = options.parse_count(count, "--count")
    if len(set(files)) < len(files):
        raise UsageError("the same file is named twice", way_out="give each file its own name")

    import numpy as np

    from gpumerge_cli.compare.cases import Family
    from gpumerge_cli.compare.lines import lines
    from gpumerge_cli.compare.records import key_dtype, records
    from gpumerge_cli.engine.write import write_array
    from gpumerge_cli.formats.record_options import RecordRequest, order_of
    from gpumerge_cli.formats.registry import resolve_format
    from gpumerge_cli.lines import LineKey, LineOrder

    said = RecordRequest(record_size, key_offset, key_size, key)
    text = LineOrder((LineKey("numeric"),)) if numeric_sort else None
    chosen = [resolve_format(file, format, dtype, lines=text, records=said) for file in files]
    for run, (file, layout) in enumerate(zip(files, chosen, strict=True)):
        is_text = layout.name == "text"
        stored = layout.dtype or np.dtype(_NPY_DTYPE)
        order = order_of(stored, layout.key, descending=reverse)
        keys = key_dtype(order) if order.record else stored.newbyteorder("=")
        family = Family(shape, keys, items, len(files), seed, not in_order, reverse)
        if is_text:
            blocks = lines(family, run, numeric=numeric_sort)
        else:
            blocks = records(family, run, order) if order.record else family.blocks(run)
        last = run == len(files) - 1
        settle = ignore_signals if last else lambda: None
        write_array(file, layout, None if is_text else stored, items, blocks, settle=settle)
