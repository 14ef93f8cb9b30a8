"""Orders of text lines. Together they use every option."""

from gpumerge_cli.order.rules import NUL, LineKey, LineOrder

LINE_ORDERS = [
    LineOrder(),
    LineOrder(reverse=True),
    LineOrder((LineKey("numeric"),)),
    LineOrder((LineKey("numeric", reverse=True),), reverse=True),
    LineOrder((LineKey("numeric"),), stable=True),
    LineOrder((LineKey("numeric", reverse=True),), terminator=NUL),
    LineOrder((LineKey(fold=True, dictionary=True), LineKey("month", 2, end_field=2, reverse=True)), b","),
    LineOrder((LineKey("general", 1, end_field=1), LineKey(start_char=2, end_field=0, end_char=5)), b",", stable=True),
    LineOrder((LineKey("human", reverse=True),), reverse=True),
    LineOrder((LineKey("version", printable=True),), terminator=NUL),
    LineOrder((LineKey("random", fold=True, parameters=bytes(range(16))),)),
    LineOrder((LineKey("month", 2), LineKey("numeric", 1, end_field=1), LineKey("version", reverse=True)), b","),
    LineOrder((LineKey("hex", 1, end_field=1, reverse=True, invalid="last"), LineKey("hex", invalid="first")), b","),
    LineOrder((LineKey("numeric", 1, end_field=1, nulls="last", null_values=(b"NA",)),), b",", stable=True),
    LineOrder((LineKey("size", 1, end_field=1, invalid="last"), LineKey("length", reverse=True)), b","),
    LineOrder((LineKey(start_field=1, skip_start=True), LineKey("general", 1, 1, 2, 1, skip_end=True)), reverse=True),
]
"""The simple orders, every comparison, several keys, fields of both kinds, both terminators."""
