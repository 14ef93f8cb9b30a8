"""Launch policies of the CPU backend.

A host thread runs the `block_size` threads of a block one after the other, on slices staged in cache. Each variant
makes its own decisions in its file in backends/variants.
"""

from __future__ import annotations

from gpumerge_cli.backends.cpu.team import ThreadTeam
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.splits import Lengths, Splits
from gpumerge_cli.backends.variants.lookup import requested_variant, variant_named
from gpumerge_cli.backends.variants.variant import Variant
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, SortPolicy, SortRequest, check_recursion
from gpumerge_cli.order.kinds import Order

# The bytes that are sorted in a core's second cache before they are merged.
SORT_TILE_BYTES = 1 << 19


def resolve(request: LaunchRequest, order: Order) -> LaunchPolicy:
    """Decide what the request leaves open. Raises UsageError that names the exceeded limit."""
    variant = _taking(requested_variant(request), order)
    why = variant.cpu.how if request.kernel == "auto" else "asked for"
    if request.kernel not in ("auto", variant.name):
        why += f"; this processor has no {request.kernel} kernel for {order.describe()}, so {variant.name} merges"
    why += "; host threads stand for blocks here" if request.blocks is not None else ""
    why += "" if variant.rounds else _unstaged(request)
    if request.blocks is not None and request.blocks < 1:
        raise UsageError(f"--blocks {request.blocks}: at least 1 block is needed")
    return variant.cpu.resolve(request, order.compared_bytes, why)


def resolve_pairs(request: LaunchRequest, order: Order) -> LaunchPolicy | None:
    """The launch of a merge of keys with values, which by vectors is faster than by items for all keys; None if the
    kernel merges keys alone. Raises UsageError that names the exceeded limit.
    """
    variant = requested_variant(request)
    chosen = variant.cpu.resolve(request, order.compared_bytes, variant.cpu.how)
    return chosen if variant.tile == "output" else None


def _taking(asked: Variant, order: Order) -> Variant:
    """The last variant up to `asked` that takes items of this order."""
    names = KERNELS[KERNELS.index(asked.name) :: -1]
    return next(variant for variant in map(variant_named, names) if variant.cpu.takes(order))


def splits(policy: LaunchPolicy, threads: int) -> Splits:
    """The levels that a merge by so many host threads is cut into."""

    def pieces(length: int) -> Lengths:
        with ThreadTeam(threads) as team:
            return [(stop - start, 1) for start, stop in team.pieces(length)]

    return (("host thread", pieces), *variant_named(policy.kernel).cpu.splits(policy))


def resolve_sort(request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
    """Decide what the request of a sort leaves open. Raises UsageError that names the exceeded limit."""
    requested = request.algorithm != "auto"
    algorithm = request.algorithm
    if algorithm == "auto":
        algorithm = "radix" if request.launch == LaunchRequest() else "merge"
    if algorithm in ("merge", "bottom-up"):
        tile = max(1, SORT_TILE_BYTES // order.compared_bytes) if algorithm == "merge" else 1
        why = "asked for" if requested else "a kernel was asked for, and this is what merges with it"
        return SortPolicy(algorithm, resolve(request.launch, order), tile, why=why)
    if request.launch != LaunchRequest():
        raise UsageError(
            f"--algorithm {algorithm} accepts no kernel and no launch sizes",
            way_out="leave them out, or use --algorithm merge or bottom-up",
        )
    if algorithm == "recursive":
        check_recursion(order.count(nbytes) or 0)
    unused = resolve(LaunchRequest(KERNELS[0]), order)
    why = "asked for" if requested else "digits in cache take fewer steps than comparisons"
    return SortPolicy(algorithm, unused, why=why)


def _unstaged(request: LaunchRequest) -> str:
    notes = ""
    if request.block_size not in (None, 1):
        notes += "; a block's threads run in turn and share nothing staged, so their number is left at 1"
    if request.fan_in not in (None, 2):
        notes += "; runs are merged in pairs, so --fan-in changes nothing"
    if request.transfer is not None:
        notes += "; nothing is moved to a device, so --transfer changes nothing"
    return notes
