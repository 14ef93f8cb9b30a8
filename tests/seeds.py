"""The seed of random cases."""

from __future__ import annotations

import os


def given_or_random_seed() -> int:
    """The seed in GPUMERGE_TEST_SEED, or a random one of 32 bits if it is unset or 0."""
    return int(os.environ.get("GPUMERGE_TEST_SEED") or "0") or int.from_bytes(os.urandom(4), "little")
