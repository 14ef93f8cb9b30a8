"""Texts of one width, ranked by the library."""

from __future__ import annotations

from gpumerge_cli.buffers import Bytes, address_of
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.kinds import Order


def text_ranks(order: Order, texts: Bytes, width: int, ranks: Bytes, threads: int) -> int | None:
    """Fill `ranks` with unsigned numbers of 64 bits that order texts as `order` orders lines, which is stable.

    texts: `width` bytes each, one for each of `ranks`, whose NUL bytes at the end do not count; then TEXT_PADDING
    bytes. Returns None, or the number of the first text with an invalid key that is an error; then there are no ranks.
    Raises MemoryError.
    """
    lib = library()
    failure = lib.Failure()
    arguments = address_of(texts), width, len(ranks), address_of(ranks), threads, failure
    status = lib.gm_text_ranks(order_spec(order), *arguments)
    if status == lib.NO_MEMORY:
        raise MemoryError
    return int(failure.position) if status == lib.DISORDER else None
