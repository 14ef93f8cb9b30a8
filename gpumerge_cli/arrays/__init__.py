"""Merges, sorts, sets and joins of arrays from Python. Host arrays go to the CPU or a GPU; arrays on a GPU stay there.

merging, sorting, sets, joining, ranking: the functions of users. taking: arrays of other libraries. keys: dtypes and
orders. payload: values that go with keys. counting: counts of equal keys. host, device: the work on NumPy and on CuPy
arrays.
"""
