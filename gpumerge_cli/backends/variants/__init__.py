"""The registry of kernel variants: every module here that registers a `Variant` makes one known."""

from __future__ import annotations

import os
from importlib import import_module

from gpumerge_cli.backends.launch import OPTIONS, LaunchRequest
from gpumerge_cli.backends.variants.variant import REGISTERED, Variant
from gpumerge_cli.errors import UsageError

for _file in sorted(os.listdir(os.path.dirname(__file__))):
    if _file.endswith(".py") and not _file.startswith("_"):
        import_module(f"{__name__}.{_file.removesuffix('.py')}")

LADDER: tuple[Variant, ...] = tuple(sorted(REGISTERED.values(), key=lambda variant: variant.rung))
"""All variants, the simplest first."""
NAMES: tuple[str, ...] = tuple(variant.name for variant in LADDER)
RUNGS: tuple[str, ...] = tuple(
    f"{variant.name} {load}".rstrip() for variant in LADDER for load in variant.loads or ("",)
)
"""The names of all policies' rungs: variants, each in every way that it loads tiles (see LaunchPolicy.rung)."""


def named(name: str) -> Variant:
    """The variant of that name. Raises UsageError if there is none."""
    if name not in REGISTERED:
        raise UsageError(f"{name!r} is no kernel", way_out=f"use auto, {', '.join(NAMES)}")
    return REGISTERED[name]


def asked_for(request: LaunchRequest) -> Variant:
    """The variant to run; "auto" is the same on every backend. Raises UsageError for a wish that it has no use for."""
    chosen = next(one for one in LADDER if one.auto) if request.kernel == "auto" else named(request.kernel)
    for option in OPTIONS:
        if getattr(request, option) is not None and option not in chosen.options:
            kernels = [variant.name for variant in LADDER if option in variant.options]
            raise UsageError(
                f"--{option.replace('_', '-')}: the {chosen.name} kernel has no use for it",
                way_out=f"leave it out, or use --kernel {' or '.join(kernels)}",
            )
    return chosen
