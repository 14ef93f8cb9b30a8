"""A call on arrays: its arrays and options, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpumerge_cli.arrays.columns import COLUMN_KINDS
from gpumerge_cli.arrays.common_dtype import EMPTY_TEXTS, as_arrays
from gpumerge_cli.arrays.interchange import is_cupy
from gpumerge_cli.arrays.key_parts import ArrayKey
from gpumerge_cli.arrays.keys import Array, ArrayKeys
from gpumerge_cli.arrays.options import (
    check_aligned,
    check_backend,
    check_count,
    check_out,
    flag,
    same_side,
    shortened,
)
from gpumerge_cli.arrays.payload import gathered, payload
from gpumerge_cli.arrays.plain_items import on_host
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.column_images import ImagedItems
    from gpumerge_cli.arrays.device_text_items import DeviceTextItems


class CallOptions(NamedTuple):
    """The options that calls share, as the caller gives them. See gpumerge_cli.merge."""

    values: Any = None
    key: ArrayKey | None = None
    descending: bool = False
    out: Any = None
    """The array for the keys, on the side of the call's arrays; None for a new one."""
    backend: str = "auto"
    """For arrays in host memory: "auto", "cpu" or "gpu"."""
    device: int = 0
    """The number of the GPU for arrays in host memory."""
    threads: int | None = None
    """Threads of the host; None for one a core."""
    check: bool = False
    """Whether to refuse arrays out of order."""
    listed: bool = True
    """Whether the caller gives a list of values. Else `values` holds the one array that the caller gives."""
    text: Any = None
    """The kind of value that text is read as: a TextKey, its word, or None."""


@dataclass(frozen=True)
class Call:
    """The arrays and the options of a call, which are valid together."""

    arrays: Sequence[Any]
    """One or more 1-D arrays of one dtype: NumPy's, or CuPy's on one device."""
    keys: ArrayKeys
    """The order of the items."""
    on_device: bool
    """Whether the arrays are CuPy's."""
    rows: Sequence[Any] | None
    """The values of each array's items, on the same side; None if there are keys only."""
    options: CallOptions
    imaged: ImagedItems | DeviceTextItems | None = None
    """The items, if `arrays` are their images and not they themselves."""

    @classmethod
    def of(cls, arrays: Sequence[Any], options: CallOptions, equals: Equals = Equals.ALL) -> Call:
        """Take arrays of any library, and check all arguments. equals: the items of the result.

        Raises UsageError for invalid arguments, DeviceError for memory of a GPU if CuPy is missing.
        """
        values, key, descending, out, backend, device, threads, check, listed, text = options
        if check is not False:
            options = options._replace(check=flag("check", check))
        given = as_arrays(arrays, empty="" if text is None else EMPTY_TEXTS)
        imaged = _imaged(given, options)
        if imaged is not None:
            if out is not None:
                raise UsageError("out must be an array, and the result is columns or text", way_out="leave it out")
            given, key, descending, text = imaged.images(), None, False, None
        keys = ArrayKeys.of(given, key, descending, text)
        on_device = same_side(given)
        if threads is not None:
            check_count("threads", threads)
        rows = None if values is None else payload(values, given, on_device=on_device, listed=listed)
        if out is not None:
            most = equals.most([len(array) for array in given])
            check_out(out, keys.dtype, most, [*given, *(rows or ())], longer=equals is not Equals.ALL)
        if not on_device:
            check_backend(backend, device)
            if keys.text is not None and backend == "gpu":
                raise UsageError("the CPU reads text, so text cannot be combined with backend='gpu'", way_out="use one")
        elif backend not in ("auto", "gpu"):
            raise UsageError(f"backend {backend!r} cannot work on CuPy arrays", way_out='use "gpu", or NumPy arrays')
        else:
            for array in given:
                check_aligned(array, "an array")
        return cls(given, keys, on_device, rows, options, imaged)

    def disorder(self, number: int, index: int) -> DisorderError:
        """The error for the item at `index` of the array with this number, which goes before its predecessor."""
        key, descending, text = self.options.key, self.options.descending, self.options.text
        arguments = f"{f', key={key!r}' if key is not None else ''}{', descending=True' if descending else ''}"
        arguments += "" if text is None else f", text={text!r}" if isinstance(text, str) else ", text=text"
        arguments += ", values=values" if self.rows is not None else ""
        if self.imaged is None:
            ahead, here = self.keys.shown(on_host(self.arrays[number][index - 1 : index + 1]))
        else:
            ahead, here = (self.imaged.shown(number, at) for at in (index - 1, index))
        return DisorderError(
            f"disorder: {shortened(here)} comes after {shortened(ahead)}",
            where=f"array {number}, index {index}",
            way_out=f"sort it first, with gpumerge_cli.sort{arguments and f'(array{arguments})'}",
        )

    def runs(self) -> tuple[list[Array], ArrayKeys]:
        """See ArrayKeys.runs."""
        return self.keys.runs(self.arrays, self.threads)

    def comparable(self, *others: Array) -> list[Array]:
        """See ArrayKeys.comparable."""
        return self.keys.comparable(self.arrays, self.threads, *others)

    def result_of(self, images: Any, positions: Any, *counts: Any) -> Any:
        """The items at these positions, as users get them: with their values, and with counts."""
        assert self.imaged is not None
        items = self.imaged.taken(positions)
        rows = () if self.rows is None else (gathered(self.rows, positions),)
        return (items, *rows, *counts) if rows or counts else items

    @property
    def threads(self) -> int:
        """The threads of the host that share the work."""
        return self.options.threads or cores()

    @property
    def total(self) -> int:
        """The number of items of all arrays."""
        return sum([len(array) for array in self.arrays])


def _imaged(given: Sequence[Any], options: CallOptions) -> ImagedItems | DeviceTextItems | None:
    """The items of a call that are compared by images made ahead; None for arrays of keys."""
    for each in given:
        if isinstance(each, COLUMN_KINDS):
            from gpumerge_cli.arrays.column_images import ImagedItems

            return ImagedItems.of(given, options.key, options.descending, options.text, options.threads)
    if options.text is None or not is_cupy(given[0]):
        return None
    from gpumerge_cli.arrays.device_text_items import DeviceTextItems

    return DeviceTextItems.of(given, options.key, options.descending, options.text, options.threads)
