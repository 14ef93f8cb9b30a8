"""The registry of kernel variants. Every file rungN_NAME.py here registers a `Variant` (see backends/ladder.py)."""

from __future__ import annotations

from importlib import import_module

from gpumerge_cli.backends.ladder import KERNELS, VARIANT_MODULES
from gpumerge_cli.backends.variants.variant import REGISTERED, Variant
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LAUNCH_OPTIONS, LaunchRequest

__all__ = ["LADDER", "requested_variant", "variant_named"]

LADDER: tuple[Variant, ...]
"""All variants, the simplest first. They are loaded as it is first read."""


def __getattr__(name: str) -> tuple[Variant, ...]:
    if name != "LADDER":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(map(variant_named, KERNELS))


def variant_named(name: str) -> Variant:
    """The variant of this name. Raises UsageError if there is none."""
    if name not in VARIANT_MODULES:
        raise UsageError(f"invalid kernel {name!r}", way_out=f"use auto, {', '.join(KERNELS)}")
    if name not in REGISTERED:
        import_module(f"{__package__}.{VARIANT_MODULES[name]}")
    return REGISTERED[name]


def requested_variant(request: LaunchRequest) -> Variant:
    """The variant that a request runs, the same on every backend. Raises UsageError for an option it does not use."""
    # The last one is auto's, so the simple ones are not loaded for it.
    ladder = map(variant_named, reversed(KERNELS))
    chosen = next(one for one in ladder if one.auto) if request.kernel == "auto" else variant_named(request.kernel)
    for option in LAUNCH_OPTIONS:
        if getattr(request, option) is not None and option not in chosen.options:
            kernels = [name for name in KERNELS if option in variant_named(name).options]
            name = "default" if request.kernel == "auto" else chosen.name
            raise UsageError(
                f"--{option.replace('_', '-')}: the {name} kernel does not use it",
                way_out=f"leave it out, or use --kernel {' or '.join(kernels)}",
            )
    return chosen
