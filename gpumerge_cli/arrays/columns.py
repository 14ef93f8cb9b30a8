"""Columns beside each other, some of which no array holds. Other columns become records: see record_columns.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpumerge_cli.arrays.column_array import ColumnArray
from gpumerge_cli.arrays.options import same_side
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Columns beside each other, some of which are a ColumnArray. All have one length and lie on one side."""

    columns: Mapping[str, Any]
    """Each a ColumnArray, or a 1-D array of NumPy or CuPy, by its name."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def dtype(self) -> np.dtype[Any]:
        """A structured one with the names of the columns."""
        return np.dtype([(name, np.uint8) for name in self.columns])


def as_columns(columns: Mapping[str, Any]) -> NamedColumns:
    """Columns of one length on one side. Raises UsageError for others. columns: a ColumnArray or an array each."""
    lengths = {name: len(each) for name, each in columns.items()}
    if len(set(lengths.values())) != 1:
        raise UsageError(f"columns of different lengths: {lengths}", way_out="give an item of each for each record")
    same_side([each.values if isinstance(each, ColumnArray) else each for each in columns.values()])
    return NamedColumns(columns)


COLUMN_KINDS = (ColumnArray, NamedColumns)
"""Made once: calls on small arrays are short."""
