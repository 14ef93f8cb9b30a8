"""Hypothesis strategies: runs of keys and of lines that reach the edges of dtypes and launch shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.order import DTYPES
from tests.oracles import merged_keys, sorted_lines

LENGTHS = st.one_of(
    st.integers(0, 12), st.sampled_from([31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257]), st.integers(0, 600)
)


def special_values(dtype: np.dtype[Any]) -> NDArray[Any]:
    """The dtype's edges: extremes, zeros of both signs, subnormals, infinities, NaNs of both signs and payloads."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([-np.inf, -1, -tiny, -0.0, 0.0, tiny, 2 * tiny, 1, np.inf, np.nan, -np.nan], dtype)
    payload = values[-2:].copy()
    payload.view(f"u{dtype.itemsize}")[:] ^= 1
    return np.concatenate([values, payload])


@st.composite
def key_runs(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES, most_runs: int = 2) -> tuple[list[NDArray[Any]], bool]:
    """(sorted runs of one dtype, descending)."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    descending = draw(st.booleans())
    count = draw(st.integers(1, most_runs)) if most_runs > 2 else 2
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    specials = special_values(dtype)
    shape = draw(st.sampled_from(["specials", "few", "uniform", "disjoint", "disjoint the other way", "one side"]))
    runs = []
    for number in range(count):
        length = draw(LENGTHS)
        if shape == "one side" and number:
            length = min(length, 1)
        if shape == "specials":
            run = rng.choice(specials, length)
        elif shape == "few":
            run = rng.integers(0, 4, length).astype(dtype)
        elif shape == "uniform":
            run = rng.integers(0, 256, (length, dtype.itemsize), np.uint8).view(dtype).reshape(-1)
        else:
            step = number if shape == "disjoint" else count - number
            run = rng.integers(20 * step, 20 * step + 19, length).astype(dtype)
        runs.append(merged_keys([run], descending=descending))
    return runs, descending


_NUMBERS = st.from_regex(rb"[ \t]{0,2}-?0{0,3}[0-9]{0,4}(\.[0-9]{0,4})?[ a-]?", fullmatch=True)
_LONG_NUMBERS = st.from_regex(rb"-?[1-3]{14,20}(\.[0-9]{0,20})?", fullmatch=True)
_LINES = st.one_of(
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"\0")),
    st.from_regex(rb"[ab]{0,20}", fullmatch=True),
    st.from_regex(rb"common prefix[ab]?", fullmatch=True),
    _NUMBERS,
    _LONG_NUMBERS,
)


@st.composite
def line_runs(draw: st.DrawFn, most_runs: int = 2) -> tuple[list[list[bytes]], bool, bool]:
    """(sorted runs of lines, numeric, descending)."""
    numeric, descending = draw(st.booleans()), draw(st.booleans())
    count = draw(st.integers(1, most_runs))
    pool = draw(st.lists(_LINES, min_size=1, max_size=12))
    runs = [draw(st.lists(st.sampled_from(pool), max_size=60)) for _ in range(count)]
    return [sorted_lines(run, numeric=numeric, descending=descending) for run in runs], numeric, descending


def as_text(lines: list[bytes]) -> bytes:
    """Lines as a file holds them, each ended."""
    return b"".join(line + b"\n" for line in lines)
