"""The registry of kernel variants. Every file rungN_NAME.py here registers a `Variant` (see backends/ladder.py)."""

from __future__ import annotations

from importlib import import_module

from gpumerge_cli.backends.ladder import KERNELS, VARIANT_MODULES
from gpumerge_cli.backends.variants.variant import REGISTERED, Variant
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LAUNCH_OPTIONS, LaunchRequest

for _module in VARIANT_MODULES.values():
    import_module(f"{__package__}.{_module}")

__all__ = ["LADDER", "requested_variant", "variant_named"]

LADDER: tuple[Variant, ...] = tuple(REGISTERED[name] for name in KERNELS)
"""All variants, the simplest first."""


def variant_named(name: str) -> Variant:
    """The variant of this name. Raises UsageError if there is none."""
    if name not in REGISTERED:
        raise UsageError(f"invalid kernel {name!r}", way_out=f"use auto, {', '.join(KERNELS)}")
    return REGISTERED[name]


def requested_variant(request: LaunchRequest) -> Variant:
    """The variant that a request runs, the same on every backend. Raises UsageError for an option it does not use."""
    chosen = next(one for one in LADDER if one.auto) if request.kernel == "auto" else variant_named(request.kernel)
    for option in LAUNCH_OPTIONS:
        if getattr(request, option) is not None and option not in chosen.options:
            kernels = [variant.name for variant in LADDER if option in variant.options]
            raise UsageError(
                f"--{option.replace('_', '-')}: the {chosen.name} kernel does not use it",
                way_out=f"leave it out, or use --kernel {' or '.join(kernels)}",
            )
    return chosen
