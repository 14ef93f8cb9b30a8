"""The items of rows: images of the keys of each row, and a reference to it. See order.rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.images import fixed_images, text_images, uint64_images, value_of_fixed, value_of_text
from gpumerge_cli.formats.tables.images import fixed_of_value, text_of_value
from gpumerge_cli.formats.tables.key_columns import KeyColumn, key_array
from gpumerge_cli.formats.tables.key_text import shown, value_of_word
from gpumerge_cli.formats.tables.references import reference_texts, references
from gpumerge_cli.order.rows import REFERENCE_BYTES, FixedRowOrder, RowOrder, TextRowOrder, unescaped
from gpumerge_cli.order.rules import END, MARK, NUL, LineKey, LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.table import Table
