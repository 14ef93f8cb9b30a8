"""The parameters of keys, such as the salt of random order: words made from the files that options name."""

from __future__ import annotations

import os

from gpumerge_cli.cli.options.groups import LineOptions
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError, input_error
from gpumerge_cli.order.key_kinds import KIND_OF, KeyKind
from gpumerge_cli.order.rules import LineKey, LineOrder


def with_parameters(order: LineOrder, options: LineOptions) -> LineOrder:
    """The order, each key with the parameters that its kind makes from the file of its option.

    Raises UsageError if an option is needed and not given, InputError for a file that is invalid or cannot be read.
    """
    names = {key.compare for key in order.keys if key.kind.source}
    if not names:
        return order
    files = {name: getattr(options, KIND_OF[name].source.replace("-", "_")) for name in names}
    data = {name: _read(KIND_OF[name], file) for name, file in files.items()}
    keys = (_filled(key, files[key.compare], data[key.compare]) if key.kind.source else key for key in order.keys)
    return replace(order, keys=tuple(keys))


def _filled(key: LineKey, file: str | None, data: bytes) -> LineKey:
    try:
        return replace(key, parameters=key.kind.words(data, key))
    except ValueError as error:
        raise InputError(str(error), where=file or "", way_out=f"name another file by --{key.kind.source}") from None


def _read(kind: KeyKind, file: str | None) -> bytes:
    """The bytes of the file, or those that stand in for them if the option is not given."""
    if file is None:
        if kind.draws:
            return os.urandom(kind.draws)
        raise UsageError(f"-{kind.letter} needs a file", way_out=f"name it by --{kind.source}")
    try:
        with open(file, "rb") as opened:
            data = opened.read(kind.draws or -1)
    except OSError as error:
        raise input_error(error, file) from None
    if len(data) < kind.draws:
        raise InputError(f"it holds fewer than {kind.draws} bytes", where=file, way_out="name a longer file")
    return data
