"""The names of all rungs of the ladder of kernels."""

from gpumerge_cli.backends.variants.lookup import LADDER

RUNGS = tuple(f"{variant.name} {load}".rstrip() for variant in LADDER for load in variant.loads or ("",))
"""A variant with several ways to load tiles is a rung for each (see LaunchPolicy.rung)."""
