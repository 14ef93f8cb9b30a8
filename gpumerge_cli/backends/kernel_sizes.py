"""Sizes that kernels state and the host must know, as kernels/gpu/sizes.cuh has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache, lru_cache

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import entries_file

_DEFINED = re.compile(r"^(?:__device__ )?constexpr int (\w+)(?:\((.*?)\) \{ return (.*); \}| = (.*?);)", re.MULTILINE)


@dataclass(frozen=True)
class _Formula:
    """A constant, or a function of `names`."""

    names: tuple[str, ...]
    expression: ast.expr


@lru_cache(maxsize=1024)
def kernel_size(name: str, *arguments: int) -> int:
    """The constant of this name, or the value of the function. Raises KeyError if there is none."""
    formula = _formulas()[name]
    return _value(formula.expression, dict(zip(formula.names, arguments, strict=True)))


@cache
def _formulas() -> Mapping[str, _Formula]:
    text = (entries_file().parents[1] / "gpu" / "sizes.cuh").read_text("utf-8")
    found = {}
    for name, parameters, returned, constant in _DEFINED.findall(text):
        names = tuple(one.split()[-1] for one in parameters.split(",") if one)
        expression = (returned or constant).replace("/", "//")  # no number is negative
        found[name] = _Formula(names, ast.parse(expression, mode="eval").body)
    return found


def _value(expression: ast.expr, names: Mapping[str, int]) -> int:
    if isinstance(expression, ast.Constant):
        return int(str(expression.value))
    if isinstance(expression, ast.Name):
        return names[expression.id] if expression.id in names else kernel_size(expression.id)
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        return kernel_size(expression.func.id, *(_value(one, names) for one in expression.args))
    assert isinstance(expression, ast.BinOp), ast.dump(expression)
    a, b = _value(expression.left, names), _value(expression.right, names)
    if isinstance(expression.op, ast.Add):
        return a + b
    if isinstance(expression.op, ast.Sub):
        return a - b
    if isinstance(expression.op, ast.Mult):
        return a * b
    assert isinstance(expression.op, ast.FloorDiv), ast.dump(expression)
    return a // b
