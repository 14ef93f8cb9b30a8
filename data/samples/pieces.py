"""Merge two sorted files of int32 in four pieces, the last piece first: python3 pieces.py A B OUT."""

import sys
from array import array
from pathlib import Path


def co_rank(rank, a, b):
    """How many of the first `rank` outputs come from a; a goes first on ties."""
    low, high = max(0, rank - len(b)), min(rank, len(a))
    while low < high:
        i = (low + high) // 2
        if b[rank - 1 - i] < a[i]:
            high = i
        else:
            low = i + 1
    return low


def merge(a, b):
    """The merge of two lists, by one loop."""
    out = array("i")
    i = j = 0
    while i < len(a) or j < len(b):
        if j < len(b) and (i == len(a) or b[j] < a[i]):
            out.append(b[j])
            j += 1
        else:
            out.append(a[i])
            i += 1
    return out


def main(a_name, b_name, out_name, pieces=4):
    a, b = (array("i", Path(name).read_bytes()) for name in (a_name, b_name))
    total = len(a) + len(b)
    with open(out_name, "wb") as file:
        for piece in reversed(range(pieces)):
            first, last = total * piece // pieces, total * (piece + 1) // pieces
            i, i_end = co_rank(first, a, b), co_rank(last, a, b)
            file.seek(first * a.itemsize)
            file.write(merge(a[i:i_end], b[first - i : last - i_end]))


if __name__ == "__main__":
    main(*sys.argv[1:])
