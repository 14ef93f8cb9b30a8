"""What the user wants done, wholly said and not yet judged: the value between the door and the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.rules import LineOrder

BackendChoice = Literal["auto", "gpu", "cpu"]
FormatChoice = str
"""The name of a format: formats.kinds.format_names() has all."""


@dataclass(frozen=True)
class ItemRequest:
    """How to read items and how they compare.

    format: None goes by the file's suffix. dtype: NumPy's name (byte order and fields allowed), None goes by suffix or
    header. lines: how lines compare; None for bytewise, where inputs are text. reverse: descending order of items that
    are no lines, and of lines if `lines` is None. header_lines: lines at the start of each input that are not items;
    those of the first stay ahead of the output. csv: keys are fields of CSV, quoted or not. records: what is said of
    fixed-size records. plain: the names of files say nothing of their content, so none is compressed; for lines alone.
    shown: makes of whole lines what is written of them, not compressed; without `csv`.
    """

    format: FormatChoice | None = None
    dtype: str | None = None
    lines: LineOrder | None = None
    reverse: bool = False
    header_lines: int = 0
    csv: bool = False
    records: RecordRequest = field(default_factory=RecordRequest)
    plain: bool = False
    shown: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class BackendRequest:
    """Where to work: backend, kernel and launch shape, host threads (None: as many as there are cores).

    devices: the numbers of the GPUs that may work; () for all there are, None for the first one. sharing: how many runs
    of this process share its start-up.
    """

    backend: BackendChoice = "auto"
    devices: tuple[int, ...] | None = None
    threads: int | None = None
    launch: LaunchRequest = field(default_factory=LaunchRequest)
    sharing: int = 1

    @property
    def device(self) -> int:
        """The number of the GPU where only one can work."""
        return self.devices[0] if self.devices else 0


@dataclass(frozen=True)
class CheckRequest:
    """One check of every input by itself. unique, memory: as of MergeRequest, but that equal items are disorder."""

    inputs: tuple[str, ...]
    items: ItemRequest = field(default_factory=ItemRequest)
    on: BackendRequest = field(default_factory=BackendRequest)
    unique: bool = False
    memory: int | None = None


@dataclass(frozen=True)
class SortFilesRequest:
    """One sort: inputs to one output; "-" is standard input or output.

    sort: algorithm and kernel. unique, memory, durable, parts: as of MergeRequest, but that memory is for all that is
    held, and None takes half of what is available. folders: for temporary files, in turn; none for the system's.
    compress_program: what packs them, "builtin" for what needs none. always_spill: as if there were no memory for all
    of it.
    """

    inputs: tuple[str, ...]
    output: str = "-"
    items: ItemRequest = field(default_factory=ItemRequest)
    on: BackendRequest = field(default_factory=BackendRequest)
    sort: SortRequest = field(default_factory=SortRequest)
    unique: bool = False
    memory: int | None = None
    folders: tuple[str, ...] = ()
    compress_program: str | None = None
    always_spill: bool = False
    durable: bool = False
    parts: int | None = None


@dataclass(frozen=True)
class MergeRequest:
    """One merge: sorted inputs to one output; "-" is standard input or output.

    check: verify the order of the inputs while they are merged. unique: of items that compare equal, only the first
    goes out. memory: bytes of host memory for chunks in flight; None takes a quarter of what is available.
    device_memory: the same on the device; None takes what chunks of the usual size need. durable: force the output to
    storage before it is shown. lenient: of lines that are not in order, give what sort -m gives, and say nothing;
    with parts they are an error. parts: the number of files that the output becomes, each a range of it; `output` has
    {part} in the place of their numbers. None for one file.
    """

    inputs: tuple[str, ...]
    output: str = "-"
    items: ItemRequest = field(default_factory=ItemRequest)
    on: BackendRequest = field(default_factory=BackendRequest)
    check: bool = True
    unique: bool = False
    memory: int | None = None
    device_memory: int | None = None
    durable: bool = False
    lenient: bool = False
    parts: int | None = None
