"""All orders, and the functions of `Order` that make them."""

from __future__ import annotations

from gpumerge_cli.order.base import Layout, Order
from gpumerge_cli.order.fields import Fields
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.keys import Keys
from gpumerge_cli.order.lines import Lines
from gpumerge_cli.order.records import Records

__all__ = ["DTYPES", "Fields", "Keys", "Layout", "Lines", "Order", "Records"]

Order.of = Keys.of_dtype
Order.records = Records.of_key
Order.lines = Lines.by
