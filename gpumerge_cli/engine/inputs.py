"""Opens the inputs of a job, and finds the one order that all of them have."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property
from operator import add, attrgetter
from typing import TYPE_CHECKING, Protocol

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.alike import same_items
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.reading_progress import Advance, ReadingProgress, is_packed
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import GpumergeError, UsageError
from gpumerge_cli.extents import DecompressedCopy
from gpumerge_cli.formats.base import STDIO, Source
from gpumerge_cli.formats.format import Layout, PreparedSources, Purpose, Written
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import EndedSource, LineSource
from gpumerge_cli.formats.naming import check_input
from gpumerge_cli.formats.output import check_writable
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.formats.registry import layout_of, open_source, refuse_mixed_lines
from gpumerge_cli.measure import Span, Stopwatch
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.run import InputFile
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.record_joins import JoinRules

_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_LARGEST = 8
_SAMPLES = 64
_SAMPLE_BYTES = 1 << 12
_SAMPLE_APART = 1 << 15  # in a smaller file, memory does not matter
_OPENED_AT_ONCE = 16  # objects of stores, whose answers take a while


class Copier(Protocol):
    """Copies compressed inputs, decompressed, to a folder that all workers can read."""

    def __call__(
        self,
        names: Sequence[str],
        layouts: Sequence[Layout],
        stopwatch: Stopwatch,
        progress: Callable[[int], Callable[[float], None]],
    ) -> AbstractContextManager[tuple[DecompressedCopy | None, ...]]:
        """The copy of each input, None where it is read as it is; () if all are. They are removed at the end.

        progress: gives a function to call with the share of an input, by its number, that was gone through. Raises
        InputError, OutputError, ClusterError.
        """


@dataclass(frozen=True)
class Inputs:
    """Opened inputs, and the order that all of them have."""

    sources: tuple[Source, ...]
    order: Order
    layout: Layout
    """That of the first input."""
    dtype: Dtype | None
    """That of the first input, byte order included; None for lines."""
    written: Written = Written()
    """See formats.format."""
    rest: Callable[[Advance | None], Advance | None] = lambda advance: advance
    """Takes the function that reports progress, and gives the one for the work after the opening."""
    names: tuple[str, ...] = ()
    """The names as the user gave them. They may hold secrets; the names of the sources do not."""
    new_head: bytes | None = None
    """The start of the output where it is not that of an input."""
    first_times: tuple[str, ...] = ()
    """See engine.times.read_first_times."""
    is_sorted: bool = False
    """See PreparedSources."""
    join: JoinRules | None = None
    """See PreparedSources."""
    others: Callable[[], Sequence[Source] | None] = tuple
    """Gives further inputs of the command that have the same order.

    None if some have not, or cannot be read now."""

    def all_sources(self) -> Sequence[Source] | None:
        """These sources and the others; None if some cannot be read now."""
        others = self.others()
        return None if others is None else (*self.sources, *others)

    @property
    def nbytes(self) -> int:
        """Bytes of all inputs."""
        return sum(source.size for source in self.sources)

    @cached_property  # sampling reads from the files
    def mean_bytes(self) -> float:
        """Bytes of an item on average; of lines by samples, rather too few than too many."""
        if self.order.item_bytes:
            return float(self.order.item_bytes)
        if any(isinstance(source, RangedSource) and not isinstance(source, LineSource) for source in self.sources):
            return 1.0
        largest = sorted(filter(attrgetter("size"), self.sources), key=attrgetter("size"))[-_LARGEST:]
        most = _SAMPLES // max(1, len(largest))
        samples = [(source, max(1, min(most, source.size // _SAMPLE_APART))) for source in largest]
        return min((_mean_line(source, at / count) for source, count in samples for at in range(count)), default=1.0)

    @property
    def head(self) -> bytes:
        """The start of the output, ahead of all items: the header of the first input that has one.

        Without headers, the first input's byte order mark.
        """
        if self.new_head is not None:
            return self.new_head
        first = self.sources[0]
        if isinstance(first, LineSource) and first.mark:
            return first.mark
        headers = (source.header for source in self.sources if isinstance(source, LineSource))
        return next(filter(None, headers), b"")

    def shown_header(self, source: Source) -> bytes:
        """The header of a source as the output has it, b"" if it has none."""
        header = source.header if isinstance(source, LineSource) else b""
        return header if self.written.shown is None else self.written.shown(header)

    def files(self, counts: Sequence[int] | None = None, sizes: Sequence[int] = ()) -> tuple[InputFile, ...]:
        """The inputs for a report. counts: items of each, if known already; counting lines reads the files.

        sizes: the bytes of each that were worked on; () for all.
        """
        known = [source.count() for source in self.sources] if counts is None else counts
        nbytes = sizes or [source.size for source in self.sources]
        if self.written.rows is not None and not self.is_sorted:
            known = list(map(add, known, self.written.rows.unlisted))
            is_ranged = isinstance(self.sources[0], RangedSource)  # whose sizes are numbers of rows
            nbytes = self.written.rows.nbytes if is_ranged else sizes or self.written.rows.nbytes
        left_out = [source.left_out if isinstance(source, LineSource) else "" for source in self.sources]
        names = [source.name for source in self.sources]
        rows = zip(names, known, nbytes, self.first_times or [""] * len(known), left_out, strict=True)
        return tuple(InputFile(*row) for row in rows)


def layouts_of(names: Sequence[str], items: Items) -> list[Layout]:
    """The layouts of inputs, without opening any. Raises UsageError if names and options do not go together."""
    if not names:
        raise UsageError("no input was named", way_out="name at least one file, or - for standard input")
    if list(names).count(STDIO) > 1:
        raise UsageError("- was named twice, but there is one standard input", way_out="name it once")
    if not items.plain:  # sort finds a pipe at its end the second time, as GNU sort does
        _check_pipes(names)
    layouts = [layout_of(name, items, number) for number, name in enumerate(names)]
    refuse_mixed_lines(names, layouts)
    return layouts


def _check_pipes(names: Sequence[str]) -> None:
    """Raise UsageError if two names stand for one open pipe: the first one would take all its bytes."""
    known: dict[tuple[int, int], str] = {}
    for name in names:
        if name != STDIO and not name.startswith(_DESCRIPTORS):
            continue
        with suppress(OSError):  # opening it will report it
            status = os.fstat(0) if name == STDIO else os.stat(name)
            if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
                pipe = status.st_dev, status.st_ino
                if pipe in known:
                    message = f"{known[pipe]} and {name} are one pipe, which can be read once"
                    raise UsageError(message, way_out="name it once, or give it as a file")
                known[pipe] = name


@contextmanager
def open_inputs(
    names: Sequence[str],
    items: Items,
    stopwatch: Stopwatch | None = None,
    advance: Advance | None = None,
    *,
    resources: Resources = Resources(),  # noqa: B008 - frozen
    outputs: Sequence[str] = (),
    outputs_next: bool = False,
    alike: bool = True,
    copier: Copier | None = None,
    silent: bool = False,
    purpose: Purpose | None = None,
) -> Iterator[Inputs]:
    """Open every input and find their common order. Raises UsageError or InputError; closes them at the end.

    stopwatch: what takes the spans of copying inputs that cannot be read anywhere, "decompress", "spool" and
    that of a format.
    advance: called from any thread with (bytes done, bytes in all) of such copies, half of which they are.
    resources: those of the job, of which inputs take memory, and folders for copies of pipes and compressed inputs.
    outputs: the names of the outputs; an OutputError for one of them is raised before an input is read. outputs_next:
    they are opened next, and need not be tried ahead if the inputs can be opened without reading all of one. alike: the
    items of all inputs are of one type, and their headers are the same. copier: copies compressed inputs to files that
    are read in their place. silent: no warnings. purpose: what the job does with the inputs; None for little.
    """
    layouts = layouts_of(names, items)
    for name in names:
        check_input(name)  # all of them before any is read, which may never end
    with ExitStack() as stack:
        deferred = outputs_next and copier is None and all(map(_opens_at_once, names, layouts))
        for output in () if deferred else outputs:
            check_writable(output)
        with _outputs_first(outputs if deferred else ()):
            stopwatch = stopwatch or Stopwatch()
            openings = ReadingProgress(names, layouts, advance)
            if copier is not None:
                copies = stack.enter_context(copier(names, layouts, stopwatch, openings.of))
                layouts = layouts_of(names, replace(items, copies=copies))
            sources = _open_all(names, layouts, stack, stopwatch, openings, resources)
            if purpose is not None:
                layouts = [replace(layout, purpose=purpose) for layout in layouts]
            if alike:
                same_items(sources, layouts)
            first = layouts[0]
            prepared = _prepared(sources, first, stack, stopwatch, openings)
            dtype = prepared.sources[0].dtype
            inputs = Inputs(
                prepared.sources,
                prepared.order,
                first,
                dtype,
                prepared.written,
                openings.rest,
                tuple(names),
                is_sorted=prepared.is_sorted,
                join=prepared.join,
            )
            if any(isinstance(source, LineSource) for source in inputs.sources):
                from gpumerge_cli.engine.headers import new_head
                from gpumerge_cli.engine.line_warnings import warn_about_lines

                if alike:
                    lines = [source for source in inputs.sources if isinstance(source, LineSource)]
                    inputs = replace(inputs, new_head=new_head(lines, inputs.written, first))
                if alike and inputs.order.text is not None and inputs.order.text.is_timed:
                    from gpumerge_cli.engine.times import read_first_times, with_years_of

                    count = len(inputs.sources)
                    order = inputs.order.by_rules(
                        with_years_of(inputs.sources, [inputs.order] * count, inputs.order.text)
                    )
                    inputs = replace(inputs, order=order, first_times=read_first_times(inputs.sources, [order] * count))
                if not silent:
                    warn_about_lines(inputs.sources, inputs.order, items, first.format)
        yield inputs


@contextmanager
def _outputs_first(outputs: Sequence[str]) -> Iterator[None]:
    """If opening inputs fails, raise the OutputError of an output that cannot be written in place of that error."""
    try:
        yield
    except GpumergeError:
        for output in outputs:
            check_writable(output)
        raise


def _opens_at_once(name: str, layout: Layout) -> bool:
    """Whether opening an input reads no more than the start of it."""
    readings = layout.format.readings(layout.items) or layout.format.holds == "rows"
    return not readings and not is_packed(name, layout) and name != STDIO and os.path.isfile(name)


def _prepared(
    sources: Sequence[Source], first: Layout, stack: ExitStack, stopwatch: Stopwatch, openings: ReadingProgress
) -> PreparedSources:
    """The sources as they are worked on; the stack closes new ones."""
    start = time.perf_counter()
    prepared = first.format.prepared(sources, first, openings.prepared)
    if first.format.readings(first.items):
        nbytes = sum(source.size for source in prepared.sources)
        stopwatch.add(Span("convert", time.perf_counter() - start, nbytes))
    new = [source for source in prepared.sources if source not in sources]
    for source in new:
        stack.callback(source.close)
    if not prepared.is_copied:
        openings.leave_out_preparing()
    return prepared


def layout_and_order(names: Sequence[str], items: Items) -> tuple[Layout, Order | None]:
    """Layout of the first and order of inputs, without opening any; the order is None if only a header tells it.

    Raises UsageError as `opened` does.
    """
    first = layouts_of(names, items)[0]
    return first, None if first.format.tells_order(first.dtype) else first.format.order(first, first.dtype)


def _open_all(
    names: Sequence[str],
    layouts: Sequence[Layout],
    stack: ExitStack,
    stopwatch: Stopwatch,
    openings: ReadingProgress,
    resources: Resources,
) -> list[Source]:
    """Open every input; the stack closes them. Compressed ones and those of stores are opened several at once."""
    folders = resources.folders

    def open_one(number: int) -> Source:
        name, layout = names[number], layouts[number]
        start = time.perf_counter()
        folder = folders[number % len(folders)] if folders else None
        source = open_source(name, layout, openings.of(number), folder=folder, memory=resources.memory)
        # Where no descriptor has the content of a compressed file, it is decompressed as it is read.
        is_copy = is_packed(name, layout) and source.extent is not None
        if is_copy or name == STDIO:
            stage = "spool" if name == STDIO else "decompress"
            stopwatch.add(Span(stage, time.perf_counter() - start, source.size))
        return source

    sources: list[Source] = []
    stored = any(is_url(name) and layout.copy is None for name, layout in zip(names, layouts, strict=True))
    if not stored and not any(map(is_packed, names, layouts)):
        for number in range(len(names)):
            sources.append(open_one(number))
            stack.callback(sources[-1].close)
        return sources
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max(cores(), _OPENED_AT_ONCE if stored else 1)) as pool:
        opening = [pool.submit(open_one, number) for number in range(len(names))]
    for future in opening:
        if future.exception() is None:
            sources.append(future.result())
            stack.callback(sources[-1].close)
    for future in opening:
        future.result()
    return sources


def _mean_line(source: Source, position: float) -> float:
    assert isinstance(source, EndedSource), "of lines"
    start = int(source.size * position)
    sample = bytearray(min(_SAMPLE_BYTES, source.size - start))
    source.read_into(start, sample)
    return max(1.0, len(sample) / max(1, sample.count(source.terminator)))
