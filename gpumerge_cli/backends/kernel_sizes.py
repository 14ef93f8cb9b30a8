"""The sizes that kernels and host share, read from kernels/gpu/sizes.cuh."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import kernel_source
from gpumerge_cli.patterns import pattern

if TYPE_CHECKING:  # a merge on the CPU imports this module, and needs no formula
    import ast

_DEFINED = pattern(r"^(?:__device__ )?constexpr int (\w+)(?:\((.*?)\) \{ return (.*); \}| = (.*?);)", re.MULTILINE)
# No number is negative, so Python's division rounds as C++'s does.
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.floordiv
}  # fmt: skip
"""By the names of their classes in the module ast."""


@dataclass(frozen=True)
class Formula:
    """A function of integers, or a constant, which has no parameters."""

    parameters: tuple[str, ...]
    """Their names."""
    expression: ast.expr
    """Its value: see sizes.cuh for the forms."""


@lru_cache(maxsize=1024)
def kernel_size(name: str, *arguments: int) -> int:
    """The constant of this name, or the value of the function. Raises KeyError if there is none."""
    found = formulas()[name]
    return _value(found.expression, dict(zip(found.parameters, arguments, strict=True)))


def whole_vectors(nbytes: int) -> int:
    """The bytes of memory for `nbytes` of items: kernels read the whole vector that holds the last of them."""
    vector = kernel_size("VECTOR")
    return -(-nbytes // vector) * vector


@cache
def formulas() -> dict[str, Formula]:
    """The constants and the functions of sizes.cuh, by their names."""
    import ast

    text = kernel_source("gpu/sizes.cuh").decode()
    return {
        name: Formula(
            tuple(one.split()[-1] for one in parameters.split(",") if one),
            ast.parse(returned or constant, mode="eval").body,
        )
        for name, parameters, returned, constant in _DEFINED.findall(text)
    }


def _value(expression: ast.expr, known: Mapping[str, int]) -> int:
    """known: the arguments of the function that it stands in, by their names."""
    import ast

    match expression:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return known[name] if name in known else kernel_size(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op).__name__ in _OPERATORS:
            return _OPERATORS[type(op).__name__](_value(left, known), _value(right, known))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return kernel_size(name, *(_value(argument, known) for argument in arguments))
    raise ValueError(f"sizes.cuh: {ast.unparse(expression)!r} is of no known form")
