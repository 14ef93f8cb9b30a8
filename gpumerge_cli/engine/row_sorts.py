"""Sorts of rows: their formats make sorted runs, which the engine merges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from gpumerge_cli.backends.base import SelectingWorkspace
from gpumerge_cli.backends.select import host
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.job import Job, Operation
from gpumerge_cli.engine.memory import memory_for_items
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.formats.format import Purpose
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.order.differences import DiffRequest
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.engine.row_selection import RowSieve
    from gpumerge_cli.order.row_joins import JoinRequest


def purpose_of(job: Job, *, by_ranges: bool = False) -> Purpose:
    """The use that a job makes of its inputs. by_ranges: see Purpose."""
    operation = job.operation
    sorts = operation.kind == "sort" and not operation.keep_order
    sieve = _sieve_of(operation) if operation.selects else None

    def sort(order: Order, nbytes: int, parts: Iterable[Bytes], use: Callable[[Bytes], None]) -> None:
        _sort_items(job, order, nbytes, parts, use, sieve)

    return Purpose(
        memory_for_items(job),
        sort if sorts else None,
        job.resources.always_spill and sorts,
        job.resources.folders,
        keeps_order=operation.keep_order,
        is_ordered=sorts or (operation.check and not operation.lenient and not operation.keep_order),
        copies=_copies(job),
        by_ranges=by_ranges,
        checks=operation.check,
        margin=operation.margin,
        most=_most_items(operation),
        sift=None if sieve is None else sieve.sift,
        output=TableSettings(job.output.compression, job.output.level, job.output.group),
        join=_join_of(operation),
        diff=operation.join if isinstance(operation.join, DiffRequest) else None,
    )


def _join_of(operation: Operation) -> JoinRequest | None:
    """The join for which a format makes items; None for other operations."""
    if operation.join is None:
        return None
    from gpumerge_cli.order.row_joins import JoinRequest  # not on the way of a merge

    return operation.join if isinstance(operation.join, JoinRequest) else None


def _sieve_of(operation: Operation) -> RowSieve | None:
    from gpumerge_cli.engine.row_selection import RowSieve
    from gpumerge_cli.engine.selection import Selection

    selection = Selection.of(operation)
    return None if selection is None else RowSieve(selection)


def _copies(job: Job) -> bool:
    """Whether a job merges all rows of its inputs into one output."""
    operation = job.operation
    is_whole = operation.keeps_sizes and operation.ranks is None and operation.keys is None and operation.join is None
    return operation.kind == "merge" and is_whole and not operation.lenient and job.output.parts is None


def _most_items(operation: Operation) -> int | None:
    """See Purpose.most. The first items of a merge are among the first ones of each input, and so at the end.

    Those of a sort are among the first ones of each sorted run.
    """
    ranks = operation.ranks
    if ranks is None or operation.kind not in ("merge", "sort"):
        return None
    if ranks.start < 0:
        return ranks.start if ranks.stop is None or ranks.stop < 0 else None
    return ranks.stop if ranks.stop is not None and ranks.stop >= 0 else None


def merge_of_runs(job: Job) -> Job:
    """The merge of a sort's runs."""
    operation = replace(job.operation, kind="merge", check=False)
    return replace(job, operation=operation, resources=replace(job.resources, memory=memory_for_items(job)))


def _sort_items(
    job: Job,
    order: Order,
    nbytes: int,
    parts: Iterable[Bytes],
    use: Callable[[Bytes], None],
    sieve: RowSieve | None,
) -> None:
    """Sort items in memory, stably, and keep those that are written. See formats.tables.runs.SortItems.

    sieve: says which these are; None for all. Raises MemoryError, UsageError.
    """
    backend, request = host(), job.operation.launch
    assert isinstance(request, SortRequest)
    policy = backend.resolve_sort(request, order, nbytes)
    workspace = backend.workspace(order, nbytes, threads=job.resources.threads or cores())
    try:
        room, at = memoryview(workspace.staging(nbytes)), 0
        for part in parts:
            data = memoryview(part).cast("B")
            room[at : at + len(data)] = data
            at += len(data)
        workspace.upload([nbytes])
        if sieve is None:
            workspace.sort(policy)
            use(workspace.download())
        else:
            workspace.sort(policy, sieve.equals)
            use(sieve.wanted(order, cast(SelectingWorkspace, workspace)))
    finally:
        workspace.close()
