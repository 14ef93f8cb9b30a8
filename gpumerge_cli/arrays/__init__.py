"""Merging and sorting arrays from Python: arrays of the host on the CPU or a GPU, arrays of a GPU where they are.

merging, sorting: the functions that users call. taking: arrays of other libraries. keys: dtypes and their orders.
payload: values that go along. host, device: the work on NumPy and on CuPy arrays.
"""

from gpumerge_cli.arrays.merging import merge
from gpumerge_cli.arrays.sorting import argsort, is_sorted, sort

__all__ = ["argsort", "is_sorted", "merge", "sort"]
