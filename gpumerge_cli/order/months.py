"""The names of months as parameters of keys, for those of another language than English."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from gpumerge_cli.order.key_kinds import WORD_BYTES

_NAME_WORDS = 4
"""Words for a name: MONTH_WORDS in kernels/key_kinds.cuh has two more."""


def month_parameters(names: Sequence[bytes]) -> bytes:
    """The parameters of keys of the kind "month": for each name its month, from 1 on, its length and its bytes.

    names: of all months, in their order. As in GNU sort, lower case of ASCII counts as upper, and blanks do not count.
    """
    words = array("q")
    folded = [name.translate(None, b" \t").upper()[: WORD_BYTES * _NAME_WORDS] for name in names]
    for name, month in sorted((name, month) for month, name in enumerate(folded, 1)):
        words.extend((month, len(name)))
        words.frombytes(name + bytes(WORD_BYTES * _NAME_WORDS - len(name)))
    return words.tobytes()
