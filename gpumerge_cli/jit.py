"""Numba, set up once: what kernels are compiled with, and memory by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile `function` on first use for each set of argument types. Nothing in it may raise: see native.py."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))


def _pointer(context: Any, builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, context.get_value_type(kind).as_pointer())


@intrinsic
def pointer_to(typing_context: Any, address: Any) -> Any:
    """An address as what Numba's `carray` takes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


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
def matches_at(typing_context: Any, address: Any, byte: Any) -> Any:
    """Which of the 64 bytes at `address` are `byte`: bit k of a uint64 tells of byte k."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        number, kind = ir.IntType(32), ir.VectorType(ir.IntType(8), 64)
        words = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
        one = builder.trunc(arguments[1], ir.IntType(8))
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, one, ir.Constant(number, 0))
        every = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(number, 64), [0] * 64))
        return builder.bitcast(builder.icmp_unsigned("==", words, every), ir.IntType(64))

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Have the cache line at `address` fetched, to be read soon. Any address is allowed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(function, [builder.inttoptr(arguments[0], pointer), to_read, keep, data])
        return context.get_dummy_value()

    return types.none(types.int64), generate


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


@intrinsic
def stack_room(typing_context: Any, nbytes: Any) -> Any:
    """The address of `nbytes` (a literal) bytes that live until the calling function returns."""
    if not isinstance(nbytes, types.IntegerLiteral):
        return None
    size = nbytes.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        room = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), -(-size // 8)))
        return builder.ptrtoint(room, ir.IntType(64))

    return types.int64(nbytes), generate


@intrinsic
def call(typing_context: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """What the compiled function at `address` (see native.py) returns for five arguments; all int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 5).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])

    return types.int64(*[types.int64] * 6), generate
