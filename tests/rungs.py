"""The names of all rungs of the ladder of kernels."""

from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.backends.variants.lookup import LADDER
from gpumerge_cli.backends.variants.variant import Variant
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import Order

GPU_LADDER = tuple(
    variant
    for variant in LADDER
    if resolve(LaunchRequest(variant.name), Order.of("int32"), TUNED_ON).kernel == variant.name
)
"""The variants that have a kernel for GPUs."""


def _rungs(ladder: tuple[Variant, ...]) -> tuple[str, ...]:
    return tuple(f"{variant.name} {load}".rstrip() for variant in ladder for load in variant.loads or ("",))


RUNGS = _rungs(LADDER)
"""A variant with several ways to load tiles is a rung for each (see LaunchPolicy.rung)."""
GPU_RUNGS = _rungs(GPU_LADDER)
GPU_KERNELS = tuple(variant.name for variant in GPU_LADDER)
