"""Kernels are compiled ahead of the work that needs them, in parallel, in the background."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.launching import Step
from gpumerge_cli.backends.gpu.many_runs import merge_of_many
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.sorting import sort_of
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.gpu.text_kernels import TextKernels
from gpumerge_cli.backends.gpu.tree import NO_TEXT
from gpumerge_cli.backends.gpu.walks import Walk
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.order.equals import Equals

_OUT, _ITEMS = 1 << 60, 1 << 62


def compile_ahead(
    kernels: Kernels, policy: LaunchPolicy | SortPolicy, items: int, *, check: bool = False, equals: Equals = Equals.ALL
) -> None:
    """Begin to compile the kernels of a merge or sort of about `items` items, in the order of their use.

    check: the kernels that check its inputs, too. equals: the rule for equal items, or the set of two or more inputs.
    """
    for _ in _steps(kernels, policy, items, check, equals):
        pass  # making a step begins to compile its kernel


def _steps(
    kernels: Kernels, policy: LaunchPolicy | SortPolicy, items: int, check: bool, equals: Equals
) -> Iterator[Step]:
    """The steps of the work on so many items at unknown addresses."""
    checks, everything = Checks(kernels), (_ITEMS, max(items, 2))
    if moves_rows(kernels.order):
        yield from TextKernels(kernels).steps(items, _no_memory)
    if kernels.order.checks_values:
        yield from checks.values(items, _OUT, NO_TEXT)
    if check:
        yield from checks.order(everything, 0, _OUT)
    if isinstance(policy, SortPolicy):
        # All launches of these use the same kernel.
        few = 2 if policy.algorithm in ("iterative", "recursive") else items
        yield from sort_of(kernels, policy).steps((_ITEMS, few), _OUT, _no_memory)
    elif equals.is_set:
        yield from Walk(kernels, equals).steps([everything, everything], (_OUT, 0), ([], 0), _no_memory, NO_TEXT, 0)
    else:
        yield from _merge(kernels, policy, items)
    if not equals.keeps_all and not equals.is_set:
        yield from checks.places(everything, equals, _OUT)


def _merge(kernels: Kernels, policy: LaunchPolicy, items: int) -> Iterable[Step]:
    runs, size = policy.runs or 2, item_bytes(kernels.order)
    edges = [items * run // runs for run in range(runs + 1)]
    parts = [(_ITEMS + start * size, end - start) for start, end in pairwise(edges)]
    return merge_of_many(kernels, policy).steps(parts, _OUT, _no_memory)


def _no_memory(nbytes: int) -> Any:
    return SimpleNamespace(ptr=0)
