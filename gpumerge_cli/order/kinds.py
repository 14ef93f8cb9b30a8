"""All orders, and the functions of `Order` that make them."""

from __future__ import annotations

from gpumerge_cli.order.base import Order
from gpumerge_cli.order.fields import FieldsOrder
from gpumerge_cli.order.keys import KeyOrder
from gpumerge_cli.order.lines import TextOrder
from gpumerge_cli.order.records import RecordOrder

__all__ = ["FieldsOrder", "KeyOrder", "Order", "RecordOrder", "TextOrder"]

Order.of = KeyOrder.of_dtype
Order.records = RecordOrder.of_key
Order.lines = TextOrder.by
