"""The three steps of a call on arrays: check it, carry it out where its arrays lie, return the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.column_calls import ColumnCall, ImagedResult
from gpumerge_cli.arrays.counting import counted
from gpumerge_cli.arrays.device import DeviceCall
from gpumerge_cli.arrays.device_images import device_call
from gpumerge_cli.arrays.host import HostCall
from gpumerge_cli.arrays.options import flag
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.prepared_calls import Usual
    from gpumerge_cli.order.equals import Kept


def prepared_result(
    usual: Usual,
    arrays: Sequence[Any],
    values: Any = None,
    key: Any = None,
    descending: bool = False,
    out: Any = None,
    backend: str = "auto",
    threads: int | None = None,
    check: bool = False,
    text: Any = None,
    counts: bool = False,
    keep: Kept = "first",
) -> Any:
    """The result of a call that a prepared call carries out; None for all others, which run_call checks.

    usual: tries prepared calls, if nothing but these options changes the operation. For the options see CallOptions.
    """
    if key is not None or text is not None or threads is not None or check is not False:
        return None
    if backend not in ("auto", "gpu"):
        return None
    if descending is not False and descending is not True:
        descending = flag("descending", descending)
    found = usual(arrays, descending, out, values)
    return found if found is None or not counts else counted(found, None, 1, keep, moved=values is not None)


def run_call(
    arrays: Sequence[Any],
    options: CallOptions,
    work: Callable[[HostCall | DeviceCall], Any],
    *,
    counts: bool = False,
    keep: Kept = "first",
    equals: Equals = Equals.ALL,
) -> Any:
    """The result of a call, as users get it: the keys, (keys, values), or an answer; counts come last.

    work: carries it out. counts: see wants_counts. keep: see counted. equals: the items of the result. Errors: see
    merge.
    """
    if options.descending is not False:
        options = options._replace(descending=flag("descending", options.descending))
    call = Call.of(arrays, options, equals)
    on: Any = call_on(call)
    if call.options.check and (disorder := on.first_disorder()) is not None:
        raise call.disorder(*disorder)
    found = work(on)
    of_images = call.imaged is not None and isinstance(found, ImagedResult)
    if counts:
        found = counted(found, call.keys, call.threads, keep, moved=of_images or options.values is not None)
    return call.result_of(*found) if of_images else found


def call_on(call: Call) -> HostCall | DeviceCall | ColumnCall:
    """The object that carries out a call. Raises DeviceError for an unavailable GPU."""
    if call.imaged is not None:
        return ColumnCall(call)
    return device_call(call) if call.on_device else HostCall(call)
