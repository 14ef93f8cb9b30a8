"""The launches of a comparison: every kernel, with as many of the requested options as it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import NAMES
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import KernelName, LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order


def launches(backend: Backend, order: Order, request: LaunchRequest, runs: int = 2) -> list[LaunchPolicy]:
    """The policies to compare, each once: all kernels, or the simplest and the requested one.

    If no kernel is named, each kernel ignores the options of the request that it does not have. Raises UsageError if
    the requested kernel cannot follow an option, or if no kernel can.
    """
    kernels: tuple[KernelName, ...] = NAMES if request.kernel == "auto" else (NAMES[0], request.kernel)
    policies: list[LaunchPolicy] = []
    refused: dict[str, UsageError] = {}
    taken: set[str] = set()
    for wish in (wish for kernel in dict.fromkeys(kernels) for wish in _wishes(kernel, request)):
        dropped: dict[str, UsageError] = {}
        if wish.kernel == request.kernel:
            policy = backend.resolve(wish, order, runs)
        else:
            policy, dropped = _nearest(backend, order, wish, runs)
        refused.update(dropped)
        taken.update(_set_fields(wish) - dropped.keys())
        if policy not in policies:
            policies.append(policy)
    for name in sorted(refused.keys() & _set_fields(request) - taken):
        raise refused[name]
    return policies


def variants(backend: Backend, order: Order, kernels: Sequence[KernelName], runs: int = 2) -> list[LaunchPolicy]:
    """The policies of these kernels, in the ladder's order: each in every way that it moves tiles, the best last.

    The backend decides the rest. No policy occurs twice, though a backend may treat two ways as one.
    """
    ordered = sorted(kernels, key=lambda name: NAMES.index(variant_named(name).name))
    wishes = [wish for kernel in ordered for wish in _wishes(kernel, LaunchRequest())]
    policies: list[LaunchPolicy] = []
    for wish in wishes:
        policy = backend.resolve(wish, order, runs)
        if policy.transfer == "bulk":  # older devices have only the other way
            policies.append(backend.resolve(replace(wish, transfer="vector"), order, runs))
        policies.append(policy)
    return list(dict.fromkeys(policies))


def _wishes(kernel: KernelName, request: LaunchRequest) -> list[LaunchRequest]:
    wish = replace(request, kernel=kernel)
    loads = variant_named(kernel).loads
    if loads and request.tile_load is None:
        return [replace(wish, tile_load=load) for load in loads]
    return [wish]


def _nearest(
    backend: Backend, order: Order, wish: LaunchRequest, runs: int
) -> tuple[LaunchPolicy, dict[str, UsageError]]:
    """The policy of `wish` with the fewest fields dropped that it resolves with, and these fields with the reason."""
    names = sorted(_set_fields(wish))
    reason = UsageError(f"the {wish.kernel} kernel cannot run here")
    for count in range(len(names) + 1):
        for dropped in combinations(names, count):
            try:
                policy = backend.resolve(replace(wish, **dict.fromkeys(dropped)), order, runs)  # type: ignore[arg-type]
            except UsageError as error:
                reason = error if count == 0 else reason
            else:
                return policy, dict.fromkeys(dropped, reason)
    raise reason


def _set_fields(request: LaunchRequest) -> set[str]:
    return {
        field.name for field in fields(request) if field.name != "kernel" and getattr(request, field.name) is not None
    }
