"""Merges, sorts, sets and joins of arrays from Python. Host arrays go to the CPU or a GPU; arrays on a GPU stay there.

merging, sorting, sets, joining, ranking: the functions of users. taking: arrays of other libraries. keys: dtypes and
orders. payload: values that go with keys. counting: counts of equal keys. host, device: the work on NumPy and on CuPy
arrays.
"""

from gpumerge_cli.arrays.joining import join
from gpumerge_cli.arrays.merging import merge
from gpumerge_cli.arrays.ranking import rank, rank_of
from gpumerge_cli.arrays.sets import difference, intersect, symmetric, union
from gpumerge_cli.arrays.sorting import argsort, is_sorted, sort

__all__ = [
    "argsort", "difference", "intersect", "is_sorted", "join", "merge", "rank", "rank_of", "sort", "symmetric",
    "union",
]  # fmt: skip
