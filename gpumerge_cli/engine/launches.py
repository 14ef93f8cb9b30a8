"""The launch of a pass on a backend, and the chunk sizes that suit it."""

from __future__ import annotations

from collections.abc import Callable

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.memory import ChunkBudget, chunk_budget
from gpumerge_cli.engine.outcome import LaunchInfo
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.launch import FAN_INS, LaunchPolicy, SortPolicy, SortRequest


def policy_of(backend: Backend, work: Pass) -> LaunchPolicy | SortPolicy:
    """The launch by which the backend carries out the pass; a merge of many runs may sort each chunk again.

    Raises UsageError for a request that it cannot meet.
    """
    launch = work.job.operation.launch
    if not isinstance(launch, SortRequest):
        return backend.resolve(launch, work.order, len(work.sources), work.equals)
    if work.sorts or 0 < backend.piece_sizes(work.order, work.mean_bytes).resorts < len(work.sources):
        policy = backend.resolve_sort(launch, work.order, work.nbytes)
        if work.sorts or policy.algorithm == "radix":
            return policy
    # An explicit merge sort never uses digits, which are for more runs than a pass merges.
    most = len(work.sources) if launch.algorithm in ("auto", "radix") else FAN_INS[-1]
    return backend.resolve(launch.launch, work.order, min(most, len(work.sources)))


_FLAG_BYTES = 8


def budget_of(
    work: Pass,
    backend: Backend,
    policy: LaunchPolicy | SortPolicy,
    threads: int | None,
    memory: int,
    device_memory: int | None = None,
) -> ChunkBudget:
    """The tasks at once and the bytes of each of a pass on the backend by this launch. See chunk_budget.

    A pass over pieces that are cut already has its budget.
    """
    if work.budget is not None:
        return work.budget
    number, item = len(work.sources), work.order.item_bytes
    sizes = backend.chunk_sizes(work.order, number, work.mean_bytes)
    if work.order.best_piece and not work.checks:
        sizes = replace(sizes, chunk=work.order.best_piece, least=work.order.best_piece)
    if isinstance(policy, SortPolicy) and not work.sorts:  # room to sort chunks again
        sizes = replace(sizes, footprint=sizes.footprint + backend.piece_sizes(work.order, work.mean_bytes).room)
    if work.margin is not None and work.margin.rules is not None:
        # A chunk is there once more with its sums, and each item has a flag.
        memory = int(memory * sizes.footprint / (sizes.footprint + 1 + _FLAG_BYTES / work.mean_bytes))
    return chunk_budget(sizes, work.nbytes, number, threads, memory, device_memory, item=item)


BudgetFunction = Callable[[Backend, LaunchPolicy | SortPolicy], ChunkBudget]
"""Gives the share of a backend that carries out a pass by a launch."""


def launch_info(device: str, policy: LaunchPolicy | SortPolicy, shrunk_to: int = 0) -> LaunchInfo:
    """A device and a launch, for reports."""
    kernel = policy.algorithm if isinstance(policy, SortPolicy) else policy.kernel
    return LaunchInfo(device, kernel, policy.describe(), policy.why, shrunk_to)
