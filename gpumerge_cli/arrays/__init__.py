"""Merges, sorts, sets and joins of arrays from Python. Host arrays go to the CPU or a GPU; arrays on a GPU stay there.

merging, sorting, uniques, selecting, sets, joining, asof, diffs, ranking: the public functions. run: the three steps of
each. call: its arrays and options, checked once. host, device: the work on NumPy and on CuPy arrays. counting: counts
of equal keys in a result. equal_pairs, key_pairs, asof_pairs, host_asof, host_ranks, searching: the search for equal or
near items, and for ranks. first_items, host_selection, device_selection: the search for the first items. host_runs:
runs and their backend.

column_array: columns of texts and of nulls, which arrow_columns reads. columns: several of them. column_calls,
column_images, column_words, column_texts, string_ranks, device_ranks: calls on them, by integers that order as they do.

interchange: lists, and arrays of other libraries. keys: dtypes and orders. payload: values that stay beside their keys.
text_key, text_images: the kinds of values that text is read as, and integers in the order of these values. options:
checks of single options. signatures: the types of the public functions. multi_gpu: sorts by several GPUs.
prepared_calls: repeated calls on CuPy arrays.
"""
