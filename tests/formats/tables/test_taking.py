"""Rows of Arrow tables by their numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.needs import library

pa = library("pyarrow")

from gpumerge_cli.formats.tables.taking import rows_at  # noqa: E402 - behind the check that pyarrow is there

ROWS = 60


def views(rng: random.Random, type: Any) -> Any:
    texts = [None if rng.random() < 0.2 else "x" * rng.randrange(60) for _ in range(ROWS)]
    return pa.array(texts, pa.string()).cast(type)


def nested(rng: random.Random, form: str) -> Any:
    """An array whose inner values are views."""
    text, binary = views(rng, pa.string_view()), views(rng, pa.string_view()).cast(pa.binary_view())
    ends = np.sort([rng.randrange(ROWS + 1) for _ in range(ROWS - 1)])
    starts = pa.array([0, *ends.tolist(), ROWS], pa.int32())
    match form:
        case "struct":
            nulls = pa.array([rng.random() < 0.2 for _ in range(ROWS)])
            return pa.StructArray.from_arrays([text, binary], ["a", "b"], mask=nulls)
        case "list":
            return pa.ListArray.from_arrays(starts, text)
        case "large list":
            return pa.LargeListArray.from_arrays(starts.cast(pa.int64()), binary)
        case "list of a fixed size":
            return pa.FixedSizeListArray.from_arrays(text, 2)
        case "map":
            keys = pa.array([str(number) for number in range(ROWS)])
            return pa.MapArray.from_arrays(starts, keys, text)
        case "struct of lists":
            return pa.StructArray.from_arrays([pa.ListArray.from_arrays(starts, binary)], ["l"])
    return text


FORMS = ("struct", "list", "large list", "list of a fixed size", "map", "struct of lists", "none")


@pytest.mark.parametrize("form", FORMS)
def test_views_are_taken_without_the_bytes_of_all_values_for_each(form: str, seed: int) -> None:
    rng = random.Random(seed)
    array = nested(rng, form)
    found = pa.table({"x": array})
    values = array.to_pylist()
    for _ in range(2):
        places = np.array([rng.randrange(len(values)) for _ in values], np.int64)
        found = rows_at(found, places)
        values = [values[place] for place in places]
        assert found.column("x").to_pylist() == values
        assert found.schema.field("x").type == array.type
    assert found.nbytes < 20 * array.nbytes
