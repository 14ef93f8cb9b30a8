"""Write the tables beside this script by Spark 4.3: python write_tables.py, with pyspark and Java installed.

plain: snappy, pages of version 1. int96: times as 96-bit integers. v2_zstd: pages of version 2, Zstandard. Each has 300
rows by rising ids, with nulls, NaN, lists, structs and maps.
"""

from __future__ import annotations

import datetime
import decimal
import shutil
from pathlib import Path

from pyspark.sql import SparkSession  # type: ignore[import-not-found]
from pyspark.sql.types import (  # type: ignore[import-not-found]
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

COLUMNS: dict[str, DataType] = {
    "id": LongType(),
    "name": StringType(),
    "amount": DecimalType(12, 2),
    "at": TimestampType(),
    "day": DateType(),
    "score": DoubleType(),
    "tags": ArrayType(StringType()),
    "place": StructType([StructField("city", StringType()), StructField("zip", IntegerType())]),
    "attrs": MapType(StringType(), LongType()),
}
ROWS = 300
FILES = {
    "plain": (2, "TIMESTAMP_MICROS", "snappy", "v1"),
    "int96": (3, "INT96", "snappy", "v1"),
    "v2_zstd": (5, "TIMESTAMP_MICROS", "zstd", "v2"),
}
"""By the name of a file: the step of its ids, the type of its times, its compression, the version of its pages."""


def row(key: int) -> tuple[object, ...]:
    """The row with this id."""
    return (
        key,
        None if key % 7 == 0 else f"name{key % 13}",
        decimal.Decimal(key * 37 % 100_000) / 100,
        datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=key * 61, microseconds=key),
        datetime.date(2024, 1, 1) + datetime.timedelta(days=key % 400),
        float("nan") if key % 11 == 0 else key / 3,
        [f"t{key % 3}"] * (key % 4),
        None if key % 5 == 0 else (f"city{key % 5}", key % 99_999),
        {f"k{key % 2}": key},
    )


def main() -> None:
    """Write all files."""
    spark = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    schema = StructType([StructField(name, type, name != "id") for name, type in COLUMNS.items()])
    for name, (step, times, compression, pages) in FILES.items():
        spark.conf.set("spark.sql.parquet.outputTimestampType", times)
        spark.conf.set("spark.sql.parquet.compression.codec", compression)
        frame = spark.createDataFrame([row(number * step) for number in range(ROWS)], schema).coalesce(1)
        folder = Path(__file__).with_name(f"{name}.written")
        frame.write.option("parquet.writer.version", pages).mode("overwrite").parquet(str(folder))
        (made,) = folder.glob("*.parquet")
        made.rename(folder.with_name(f"{name}.parquet"))
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
