"""Merge files: judge the request, plan, stream, report."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gpumerge_cli import __version__
from gpumerge_cli.backends.base import Backend, LaunchPolicy, LaunchRequest
from gpumerge_cli.backends.select import Selected, select
from gpumerge_cli.engine import check
from gpumerge_cli.engine.inputs import Inputs, opened
from gpumerge_cli.engine.request import MergeRequest
from gpumerge_cli.engine.resources import chunk_bytes_for, default_memory, peak_memory, workers_for
from gpumerge_cli.engine.stream import FoundDisorderError, Outcome, Stream, run
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Plan, make_plan
from gpumerge_cli.report.model import InputFile, MergeReport, Stage

_STAGES = ("read", "upload", "index", "check", "kernel", "download", "compress", "write")


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
    stopwatch = Stopwatch()
    with opened(request.inputs, request.items) as inputs:
        on = request.on
        selected = select(on.backend, on.device, inputs.order, inputs.nbytes, launch_given=on.launch != LaunchRequest())
        policy = selected.backend.resolve(on.launch, inputs.order)
        count = None if inputs.dtype is None or request.unique else inputs.nbytes // inputs.order.width
        sink = open_sink(request.output, inputs.format, inputs.dtype, count)
        try:
            _warm_up(selected.backend, inputs.order, policy, request.check)
            started = time.perf_counter()
            workers, plan = _planned(inputs, selected.backend, request)
            if not request.unique:
                sink.reserve(plan.nbytes)
            planned = time.perf_counter()
            stream = Stream(
                plan,
                inputs.sources,
                sink,
                inputs.order,
                selected.backend,
                policy,
                request.check,
                request.unique,
                workers,
            )
            try:
                outcome = run(stream, stopwatch, advance)
            except FoundDisorderError as found:
                source = inputs.sources[found.source]
                offset = check.first_disorder(source, inputs.order, selected.backend, workers)
                assert offset is not None
                raise check.disorder_error(source, offset, inputs.order, selected.backend, workers) from None
            for source in inputs.sources:
                source.check_unchanged()
            settle()
            sink.commit(count=sum(outcome.counts) - outcome.dropped, durable=request.durable)
        except BaseException:
            sink.abort()
            raise
        ended = time.perf_counter()
        return _report(
            request, inputs.files(outcome.counts), selected, stream, outcome, stopwatch,
            wall=since_start + ended - called,
            start_up=since_start + started - called,
            planning=planned - started,
            busy=ended - planned,
        )  # fmt: skip


def _warm_up(backend: Backend, order: Order, policy: LaunchPolicy, check: bool) -> None:
    """Merge two items, so that compiling and loading code counts as start-up and not as the first chunk's work."""
    item = b"0\n" if order.is_lines else bytes(order.width)
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
        selected = select(on.backend, on.device, inputs.order, inputs.nbytes, launch_given=on.launch != LaunchRequest())
        return _planned(inputs, selected.backend, request)[1]


def _planned(inputs: Inputs, backend: Backend, request: MergeRequest) -> tuple[int, Plan]:
    """(chunks in flight, plan)."""
    pace = backend.pace(inputs.order, len(inputs.sources), inputs.item_bytes)
    workers = workers_for(pace, request.on.threads)
    memory = default_memory() if request.memory is None else request.memory
    chunk_bytes = chunk_bytes_for(pace, inputs.nbytes, len(inputs.sources), workers, memory, request.device_memory)
    return workers, make_plan(inputs.sources, inputs.order, chunk_bytes)


def _report(
    request: MergeRequest,
    files: tuple[InputFile, ...],
    selected: Selected,
    stream: Stream,
    outcome: Outcome,
    stopwatch: Stopwatch,
    *,
    wall: float,
    start_up: float,
    planning: float,
    busy: float,
) -> MergeReport:
    plan, policy = stream.plan, stream.policy
    totals = [stopwatch.total(name) for name in _STAGES]
    stages = tuple(Stage(total.name, total.seconds, total.nbytes) for total in totals if total.seconds > 0)
    workers = max(1, min(stream.workers, len(plan)))
    return MergeReport(
        inputs=files,
        output=request.output,
        items=sum(file.items for file in files),
        nbytes=plan.nbytes,
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
        chunks=len(plan),
        chunk_bytes=plan.largest,
        shrunk_to=outcome.limit,
        workers=workers,
        checked=stream.check,
        wall=wall,
        start_up=start_up,
        plan=planning,
        busy=busy,
        stages=stages,
        bound=_bound(stages, start_up, planning, busy, workers, plan),
        peak_memory=peak_memory(),
        version=__version__,
    )


def _bound(stages: tuple[Stage, ...], start_up: float, planning: float, busy: float, workers: int, plan: Plan) -> str:
    """What to make faster to make the run faster."""
    if not stages or start_up + planning > busy:
        return f"start-up: {start_up + planning:.3f} s before the first byte, {busy:.3f} s of work"
    longest = max(stages, key=lambda stage: stage.seconds)
    share = longest.seconds / (busy * workers)
    return f"{longest.name}: {share:.0%} of the workers' time"
