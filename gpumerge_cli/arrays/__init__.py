"""Merges, sorts, sets and joins of arrays from Python. Host arrays go to the CPU or a GPU; arrays on a GPU stay there.

merging, sorting, sets, joining, ranking: the functions of users. run: the three steps of each. call: what it was given,
judged once. host, device: the work on NumPy and on CuPy arrays. counting: counts of equal keys, as a result has them.

taking: arrays of other libraries. keys: dtypes and orders. payload: values that go with keys. options: judges of single
options. remembered: calls on CuPy arrays of a kind that was called before.
"""
