"""Parquet files in memory, of random tables."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def encoded(table: Any, **settings: Any) -> bytes:
    """The table as a file."""
    out = io.BytesIO()
    pq.write_table(table, out, **{"write_page_index": True, **settings})
    return out.getvalue()


def table_of(rng: random.Random, rows: int, *, nested: bool = True) -> Any:
    """A table of columns of many types."""

    def some(draw: Callable[[], Any]) -> list[Any]:
        return [None if rng.random() < 0.1 else draw() for _ in range(rows)]

    names = [f"name {number}" for number in range(20)]
    columns = {
        "id": pa.array([rng.randrange(1 << 40) for _ in range(rows)], pa.int64()),
        "small": pa.array(some(lambda: rng.randrange(-99, 99)), pa.int16()),
        "price": pa.array(some(rng.random), pa.float64()),
        "name": pa.array(some(lambda: rng.choice(names)), pa.string()),
        "bytes": pa.array(some(lambda: rng.randbytes(rng.randrange(9))), pa.binary()),
        "yes": pa.array(some(lambda: rng.random() < 0.5), pa.bool_()),
        "day": pa.array(some(lambda: dt.date(2024, 1, 1 + rng.randrange(31))), pa.date32()),
        "at": pa.array(some(lambda: dt.datetime(2024, 1, 1, 0, 0, rng.randrange(60))), pa.timestamp("us", "UTC")),
        "cost": pa.array(some(lambda: decimal.Decimal(rng.randrange(9999)).scaleb(-2)), pa.decimal128(9, 2)),
    }
    if nested:
        columns["tags"] = pa.array(
            some(lambda: [rng.choice(names) for _ in range(rng.randrange(4))]), pa.list_(pa.string())
        )
        points = some(lambda: {"x": rng.randrange(9), "y": None})
        columns["point"] = pa.array(points, pa.struct({"x": pa.int32(), "y": pa.float64()}))
    return pa.table(columns)
