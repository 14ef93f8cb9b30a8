"""The salt of random order: the bytes that its hashes begin with."""

from __future__ import annotations

import os

from gpumerge_cli.errors import InputError, input_error
from gpumerge_cli.order.rules import SALT_BYTES


def read_salt(source: str | None) -> bytes:
    """The first bytes of the file `source`, or random ones for None. Raises InputError."""
    if source is None:
        return os.urandom(SALT_BYTES)
    try:
        with open(source, "rb") as file:
            salt = file.read(SALT_BYTES)
    except OSError as error:
        raise input_error(error, source) from None
    if len(salt) < SALT_BYTES:
        raise InputError(f"it holds fewer than {SALT_BYTES} bytes", where=source, way_out="name a longer file")
    return salt
