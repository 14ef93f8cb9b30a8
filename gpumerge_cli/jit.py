"""Numba, set up once: compiled without the interpreter lock, kept on disk where there is a place for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.extending import intrinsic

from gpumerge_cli.cache import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def _cache_folder() -> str:
    """Where compiled code is kept: a folder per state of the compiled sources.

    Numba's own check looks at the one file that holds a function, not at those whose functions it calls.
    """
    digest = hashlib.sha256()
    here = Path(__file__)
    for source in [here, *sorted((here.parent / "backends" / "cpu").glob("*.py"))]:
        digest.update(source.read_bytes())
    base = numba.config.CACHE_DIR or cache_folder()
    return os.path.join(base, f"numba-{digest.hexdigest()[:16]}")


def jit(function: Function) -> Function:
    """Compile `function` on first use for each set of argument types."""
    before = numba.config.CACHE_DIR
    try:
        # Read when the function is decorated, so the setting of other users of Numba in this process stays theirs.
        numba.config.CACHE_DIR = _cache_folder()
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except (RuntimeError, OSError):  # no folder that could hold the cache
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = before
    return cast(Function, compiled)


def _pointer(context: Any, builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, context.get_value_type(kind).as_pointer())


@intrinsic
def word_at(typing_context: Any, address: Any) -> Any:
    """The eight bytes at `address`, at any alignment, as a little-endian uint64.

    Addresses instead of arrays keep reference counts and index checks out of inner loops; the caller keeps the array
    alive and the address inside it.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, arguments[0], types.uint64)
        return builder.load(pointer, align=1, typ=context.get_value_type(types.uint64))

    return types.uint64(types.int64), generate


@intrinsic
def byte_at(typing_context: Any, address: Any) -> Any:
    """The byte at `address`, as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, arguments[0], types.uint8)
        byte = builder.load(pointer, align=1, typ=context.get_value_type(types.uint8))
        return builder.zext(byte, context.get_value_type(types.int64))

    return types.int64(types.int64), generate


@intrinsic
def put_word(typing_context: Any, address: Any, word: Any) -> Any:
    """Store eight bytes at `address`, at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], _pointer(context, builder, arguments[0], types.uint64), align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.uint64), generate


@intrinsic
def put_byte(typing_context: Any, address: Any, byte: Any) -> Any:
    """Store one byte at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.trunc(arguments[1], context.get_value_type(types.uint8))
        builder.store(value, _pointer(context, builder, arguments[0], types.uint8), align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """How many low bits of a uint64 are zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def byte_swap(typing_context: Any, word: Any) -> Any:
    """A uint64 with its bytes in the opposite order."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate
