"""Hypothesis beside threads that other libraries leave running."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st


def test_a_thread_may_draw_random_numbers_while_hypothesis_draws() -> None:
    """A cluster's event loop, which lives until its worker of pytest ends, draws them at any time."""
    with ThreadPoolExecutor(1) as other:

        def drawn(number: int) -> int:
            other.submit(random.random).result()
            return number

        @settings(max_examples=2, database=None)
        @given(st.integers().map(drawn))
        def test(number: int) -> None:
            assert isinstance(number, int)

        test()
