"""The items of rows: images of the keys of each row, and a reference to it. See order.rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
