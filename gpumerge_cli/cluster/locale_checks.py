"""Checks whether a worker has the locale of an order."""

from __future__ import annotations

import socket

from gpumerge_cli.errors import ClusterError, UsageError
from gpumerge_cli.native.locales import open_locale
from gpumerge_cli.order.kinds import Order


def check_locale(order: Order) -> None:
    """Raise ClusterError if this machine lacks the locale of an order."""
    if order.text is None or not order.text.by_locale:
        return
    try:
        open_locale(order.text.locale)
    except UsageError as error:
        raise ClusterError(
            f"the worker at {socket.gethostname()}: {error.what}", way_out="install the locale on all machines"
        ) from None
