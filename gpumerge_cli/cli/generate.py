"""gpumerge generate: test data with a known shape."""

from __future__ import annotations

import os

from gpumerge_cli.cli.job_parts import record_options
from gpumerge_cli.cli.options.typed import GenerateOptions
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.errors import UsageError

_NPY_DTYPE = "int32"


def run_generate(options: GenerateOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    files, count = options.files, options.count
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.foreign import foreign_of

    named: dict[str, str] = {}
    for file in files:
        place = os.path.realpath(file)
        if place in named:
            other = "" if named[place] == file else f", once as {named[place]}"
            raise UsageError(f"{file} is named twice{other}", way_out="give each file its own name")
        named[place] = file
        foreign = foreign_of(suffix_of(file)) if options.format is None and options.dtype is None else None
        if foreign is not None and not foreign.text:
            what = f"{file}: its suffix means {foreign.name}, which gpumerge does not write"
            raise UsageError(what, way_out="end the name in .i32, .npy or .txt, or use --format or --dtype")

    import numpy as np

    from gpumerge_cli.compare.key_shapes import Family
    from gpumerge_cli.compare.lines import lines
    from gpumerge_cli.compare.records import key_dtype, record_blocks
    from gpumerge_cli.engine.array_output import write_array
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import order_of
    from gpumerge_cli.formats.registry import layout_of
    from gpumerge_cli.order.rules import LineKey, LineOrder

    records = record_options(options, options.field)
    if records.first_option and records.size is None and options.dtype is None:
        way_out = "add --dtype, with its fields for --field, as --dtype u4,f8; or --record-size"
        raise UsageError(f"{records.first_option}: the type of the records is not known", way_out=way_out)
    text = LineOrder((LineKey("numeric"),)) if options.numeric_sort else None
    items = Items(options.format, options.dtype, text, records=records)
    layouts = [layout_of(file, items) for file in files]
    for run, (file, layout) in enumerate(zip(files, layouts, strict=True)):
        is_text = layout.format.holds == "lines"
        stored = layout.dtype or np.dtype(_NPY_DTYPE)
        order = order_of(stored, layout.key, descending=options.reverse)
        if len(order.by_key()) > 1 and not is_text:
            what = f"--field {','.join(options.field)}: records are made with one key"
            raise UsageError(what, way_out="name one field")
        keys = key_dtype(order)
        family = Family(options.shape, keys, count, len(files), options.seed, not options.sorted, options.reverse)
        blocks = lines(family, run, numeric=options.numeric_sort) if is_text else record_blocks(family, run, order)
        last = run == len(files) - 1
        settle = ignore_signals if last else lambda: None
        write_array(file, layout, None if is_text else stored, count, blocks, settle=settle)
