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
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    base = numba.config.CACHE_DIR or os.path.join(user, "gpumerge")
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


def _element_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    base = context.make_array(array_type)(context, builder, array).data
    return builder.gep(base, [index])


@intrinsic
def load64(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight bytes of a uint8 array from `index` on, at any alignment, as a little-endian uint64. Not bounds-checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, signature.args[0], *arguments)
        word = context.get_value_type(types.uint64)
        return builder.load(builder.bitcast(pointer, word.as_pointer()), align=1, typ=word)

    return types.uint64(array, types.int64), generate


@intrinsic
def store64(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """The counterpart of load64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_value, index_value, word_value = arguments
        pointer = _element_pointer(context, builder, signature.args[0], array_value, index_value)
        word = context.get_value_type(types.uint64)
        builder.store(word_value, builder.bitcast(pointer, word.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.uint64), generate


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
