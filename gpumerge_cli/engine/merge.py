"""Merge files: judge the request, plan, stream, report."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gpumerge_cli import __version__
from gpumerge_cli.backends import costs
from gpumerge_cli.backends.base import Backend, LaunchPolicy
from gpumerge_cli.backends.select import Selected, select
from gpumerge_cli.compiling import timed
from gpumerge_cli.engine.inputs import Inputs, opened
from gpumerge_cli.engine.request import BackendRequest, MergeRequest
from gpumerge_cli.engine.resources import Shares, cores, default_memory, peak_memory, shares
from gpumerge_cli.engine.stream import FoundDisorderError, Outcome, Stream, run
from gpumerge_cli.formats.output import refuse_inputs
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.measure import COMPILE, Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Plan, plan_in_spans
from gpumerge_cli.report.model import Ceiling, InputFile, MergeReport, Stage, bounded

_STAGES = (COMPILE, "read", "upload", "index", "check", "kernel", "download", "compress", "write")


def merge_files(
    request: MergeRequest,
    *,
    since_start: float = 0.0,
    advance: Callable[[int, int], None] | None = None,
    settle: Callable[[], None] = lambda: None,
) -> MergeReport:
    """Merge the inputs of `request` to its output, which appears whole or not at all.

    since_start: seconds the process had run before the call, for the report. advance: called with (bytes written, bytes
    in all) after every chunk, from any thread but one at a time. settle: called once, before the output takes its
    place; what stops the run after that must not say that there is no output. Raises UsageError, InputError,
    DisorderError, OutputError, DeviceError; the output is then as it was.
    """
    called = time.perf_counter()
    stopwatch = Stopwatch(called - since_start)
    refuse_inputs(request.output, request.inputs)
    with (
        timed(stopwatch.add),
        opened(request.inputs, request.items, stopwatch, advance, output=request.output) as inputs,
    ):
        advance = inputs.rest(advance)
        on = request.on
        selected = selected_for(on, inputs)
        policy = selected.backend.resolve(on.launch, inputs.order, len(inputs.sources))
        count = None if request.unique else inputs.order.count(inputs.nbytes)
        sink = open_sink(request.output, inputs.format, inputs.dtype, count, head=inputs.head)
        try:
            _warm_up(selected.backend, inputs.order, policy, request.check)
            started = time.perf_counter()
            if not request.unique:
                sink.reserve(inputs.nbytes, on.threads)
            stream = Stream(
                inputs.sources,
                sink,
                inputs.order,
                selected.backend,
                policy,
                _shares(inputs, selected.backend, request),
                check=request.check or request.lenient,
                unique=request.unique,
                lenient=request.lenient,
            )
            try:
                outcome = run(stream, stopwatch, advance)
            except FoundDisorderError as found:
                from gpumerge_cli.engine.check import disorder_in

                source = inputs.sources[found.source]
                error = disorder_in(source, inputs.order, selected.backend, stream.shares.workers)
                assert error is not None
                raise error from None
            if outcome.rest is not None:
                from gpumerge_cli.engine.heads import merge_heads

                memory = default_memory() if request.memory is None else request.memory
                merge_heads(stream, outcome, memory, inputs.item_bytes, stopwatch, advance)
            for source in inputs.sources:
                source.check_unchanged()
            settle()
            sink.commit(count=sum(outcome.counts) - outcome.dropped, durable=request.durable)
        except BaseException:
            sink.abort()
            raise
        ended = time.perf_counter()
        measured = _report(
            request, inputs.files(outcome.counts), selected, stream, policy, outcome, stopwatch,
            wall=since_start + ended - called,
            start_up=since_start + started - called,
            busy=ended - started,
        )  # fmt: skip
        return bounded(measured)


def _warm_up(backend: Backend, order: Order, policy: LaunchPolicy, check: bool) -> None:
    """Merge two items, so that compiling and loading code counts as start-up and not as the first chunk's work."""
    item = order.sample()
    workspace = backend.workspace(order, 2 * len(item))
    try:
        workspace.staging(2 * len(item))[:] = np.frombuffer(2 * item, np.uint8)
        workspace.upload([len(item), len(item)])
        if check:
            workspace.disorder()
        workspace.merge(policy)
        workspace.download()
    finally:
        workspace.close()


def plan_files(request: MergeRequest) -> Plan:
    """The plan that merge_files would follow. Opens and probes the inputs; writes nothing. Raises as merge_files."""
    with opened(request.inputs, request.items) as inputs:
        on = request.on
        selected = selected_for(on, inputs)
        chunk_bytes = _shares(inputs, selected.backend, request).chunk_bytes
        return plan_in_spans(inputs.sources, inputs.order, chunk_bytes)


def selected_for(on: BackendRequest, inputs: Inputs) -> Selected:
    """The backend that `on` asks for, or that `inputs` are best worked on with."""
    return select(on.backend, on.device, inputs.order, inputs.nbytes, sharing=on.sharing)


def _shares(inputs: Inputs, backend: Backend, request: MergeRequest) -> Shares:
    pace = backend.pace(inputs.order, len(inputs.sources), inputs.item_bytes)
    memory = default_memory() if request.memory is None else request.memory
    return shares(pace, inputs.nbytes, len(inputs.sources), request.on.threads, memory, request.device_memory)


def _report(
    request: MergeRequest,
    files: tuple[InputFile, ...],
    selected: Selected,
    stream: Stream,
    policy: LaunchPolicy,
    outcome: Outcome,
    stopwatch: Stopwatch,
    *,
    wall: float,
    start_up: float,
    busy: float,
) -> MergeReport:
    totals = [stopwatch.total(name) for name in _STAGES]
    stages = tuple(Stage(total.name, total.seconds, total.nbytes) for total in totals if total.seconds > 0)
    workers, plan = outcome.workers, stopwatch.total("plan").seconds
    return MergeReport(
        inputs=files,
        output=request.output,
        items=sum(file.items for file in files),
        nbytes=sum(file.nbytes for file in files),
        written=outcome.written,
        unique=stream.unique,
        dropped=outcome.dropped,
        order=stream.order.describe(),
        backend=selected.backend.name,
        device=selected.backend.info().name,
        backend_why=selected.why,
        kernel=policy.kernel,
        launch=policy.describe(),
        launch_why=policy.why,
        chunks=outcome.chunks,
        chunk_bytes=outcome.largest,
        shrunk_to=outcome.limit,
        workers=workers,
        checked=stream.check,
        wall=wall,
        start_up=start_up,
        plan=plan,
        busy=busy,
        stages=stages,
        peak_memory=peak_memory(),
        version=__version__,
        timeline=stopwatch.timeline(),
        ceilings=ceilings_of(selected.backend, stream.order, workers),
        expected=costs.load().predict(
            selected.backend.name,
            stream.order.costs_as,
            stream.nbytes,
            min(workers, cores()),
            compiling=selected.compiling,
        ),
    )


def ceilings_of(backend: Backend, order: Order, workers: int) -> tuple[Ceiling, ...]:
    """What the cost model takes the stages for at their fastest, with so many workers."""
    known = costs.load()
    found = known.ceilings(backend.name, order.costs_as, min(workers, cores()))
    return tuple(Ceiling(*one, known.source) for one in found)
