"""The report of a merge or sort, made from the job, the work of the workers, and the times."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpumerge_cli import __version__, costs
from gpumerge_cli.costs import Mix
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import JobTeam
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job, Operation
from gpumerge_cli.engine.outcome import LaunchInfo, Outcome, WorkerLog
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.resources import cores, peak_memory
from gpumerge_cli.measure import COMPILE
from gpumerge_cli.order.differences import DiffRequest
from gpumerge_cli.results.origin import origin_now
from gpumerge_cli.results.run import STAGES, Ceiling, Difference, KindReport, MergeReport, Stage, WorkerReport, bounded


def make_report(
    job: Job,
    team: JobTeam,
    inputs: Inputs,
    output: Output,
    outcome: Outcome,
    clock: Clock,
    parts: Sequence[Sequence[int]] = (),
) -> MergeReport:
    """The report of a run that ends now. parts: bytes of each input in each part of the output; () for all of them."""
    ended = time.perf_counter()
    operation, stopwatch = job.operation, clock.stopwatch
    merges, joins = operation.kind == "merge", operation.join is not None
    totals, expected = list(map(stopwatch.total, (COMPILE, *STAGES))), team.choice.expected
    logs = _at_work(outcome.logs)
    about = _about_all(logs, by_bytes=merges)
    backends = list(dict.fromkeys(log.report.backend for log in logs))
    files = inputs.files(outcome.counts, tuple(map(sum, zip(*parts, strict=True))))
    files = files[::-1] if operation.turned else files
    # A join may write an item several times, so the difference is its items, and none is dropped.
    joined = sum(outcome.counts) - outcome.dropped if joins else None
    # The run starts when its devices have started, if only devices work.
    started = clock.started if "cpu" in backends else max(clock.started, outcome.began)
    measured = MergeReport(
        inputs=files,
        output=job.output.name,
        items=sum(file.items for file in files),
        nbytes=sum(file.nbytes for file in files),
        written=outcome.written,
        unique=not (operation.equals.keeps_all or joins or operation.selects),
        dropped=0 if joins else outcome.dropped,
        order=inputs.order.describe(),
        backend="+".join(backends),
        device=about.device,
        backend_why=team.choice.why,
        kernel=about.kernel,
        launch=about.launch,
        launch_why=about.launch_why,
        chunks=outcome.chunks,
        chunk_bytes=outcome.largest,
        shrunk_to=about.shrunk_to,
        workers=outcome.workers,
        checked=merges and (operation.check or operation.lenient),
        wall=clock.before + ended - clock.called,
        start_up=clock.before + started - clock.called,
        plan=stopwatch.total("plan").seconds,
        busy=ended - started,
        stages=tuple(Stage(total.name, total.seconds, total.nbytes) for total in totals if total.seconds > 0),
        peak_memory=peak_memory(),
        version=__version__,
        origin=origin_now(job.description),
        timeline=stopwatch.timeline(),
        ceilings=_ceilings(backends, inputs.order.costs_as, outcome.workers),
        expected=expected.seconds if expected is not None else 0.0,
        kind=operation.title,
        worker_reports=tuple(map(_finished, outcome.logs)),
        kinds=_kinds(outcome.logs, expected),
        parts=output.parts(outcome) if job.output.parts is not None else (),
        joined=joined,
        difference=_difference(operation, outcome),
    )
    return bounded(measured)


def _difference(operation: Operation, outcome: Outcome) -> Difference | None:
    """The numbers of a diff; None for other operations."""
    if not isinstance(operation.join, DiffRequest):
        return None
    (old, new), unchanged = outcome.counts, outcome.dropped // 2
    both = unchanged + outcome.changed
    return Difference(new - both, old - both, outcome.changed, unchanged)


def _at_work(logs: Sequence[WorkerLog]) -> list[WorkerLog]:
    """The workers that did chunks; in a run without chunks, those that started."""
    return [log for log in logs if log.report.chunks] or [log for log in logs if log.started] or list(logs)


def _about_all(logs: Sequence[WorkerLog], *, by_bytes: bool) -> LaunchInfo:
    """The devices and launches of all workers, first those of the worker that did most.

    by_bytes: otherwise the first worker comes first, as in a sort, whose first pass gives the launch.
    """
    ranked = sorted(logs, key=lambda log: -log.report.nbytes) if by_bytes else logs
    kinds = {log.report.backend: log.worker.launch_info() for log in reversed(ranked)}
    kinds = dict(reversed(kinds.items()))
    first = next(iter(kinds.values()), LaunchInfo())
    if len(kinds) == 1:
        return first
    return LaunchInfo(
        ", ".join(dict.fromkeys(about.device for about in kinds.values())),
        first.kernel,
        "; ".join(f"{backend}: {about.launch}" for backend, about in kinds.items()),
        "; ".join(f"{backend}: {about.launch_why}" for backend, about in kinds.items() if about.launch_why),
        next((about.shrunk_to for about in kinds.values() if about.shrunk_to), 0),
    )


def _ceilings(backends: Sequence[str], items: str, workers: int) -> tuple[Ceiling, ...]:
    """The cost model's fastest rates of the stages, with so many workers; () for several backends."""
    if len(backends) != 1 or backends[0] not in costs.BACKENDS:
        return ()
    known = costs.load_costs()
    found = known.ceilings(backends[0], items, min(workers, cores()))
    return tuple(Ceiling(*one, known.source) for one in found)


def _finished(log: WorkerLog) -> WorkerReport:
    about = log.worker.launch_info()
    return replace(
        log.report, device=about.device, kernel=about.kernel, launch=about.launch, threads=log.worker.threads
    )


def _kinds(logs: Sequence[WorkerLog], expected: Mix | None) -> tuple[KindReport, ...]:
    whole = max(1, sum(log.report.nbytes for log in logs))
    mix = expected or Mix(0.0)
    return tuple(
        KindReport(
            backend,
            sum(log.report.backend == backend for log in logs),
            mix.alone.get(backend, 0.0),
            mix.shares.get(backend, 0.0),
            sum(log.report.nbytes for log in logs if log.report.backend == backend) / whole,
        )
        for backend in dict.fromkeys(log.report.backend for log in logs)
    )
