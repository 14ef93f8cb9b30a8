"""The report of a merge or sort, made from the job, the work of the workers, and the times."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpumerge_cli import __version__
from gpumerge_cli.backends import costs
from gpumerge_cli.backends.costs import Mix
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.executor import WorkerLog
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.resources import cores, peak_memory
from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.engine.workers import About
from gpumerge_cli.measure import COMPILE, Stopwatch
from gpumerge_cli.report.model import Ceiling, KindReport, MergeReport, OutputPart, Stage, WorkerReport, bounded

_STAGES = (
    COMPILE, "read", "upload", "index", "check", "sort", "kernel", "download", "spill", "compress", "write",
)  # fmt: skip


@dataclass
class Clock:
    """The moments of a run, in seconds of time.perf_counter.

    called: the time of the call. before: seconds that the process had run by then. started: the begin of the work; 0
    until then.
    """

    before: float
    called: float = field(default_factory=time.perf_counter)
    started: float = 0.0

    def start(self) -> None:
        """The work begins."""
        self.started = time.perf_counter()


@dataclass(frozen=True)
class Ran:
    """The run, as a report tells it. Fields of the same names are MergeReport's.

    expected: by the cost model; None where it has no say. about: the policy of the whole run, if it is not that of
    the worker that did most. sizes: bytes of each input that went in; () for all of them.
    """

    kind: str
    output: str
    unique: bool
    checked: bool
    backend_why: str
    expected: Mix | None = None
    parts: tuple[OutputPart, ...] = ()
    about: About | None = None
    sizes: tuple[int, ...] = ()
    joined: int | None = None


def report(ran: Ran, inputs: Inputs, outcome: Outcome, stopwatch: Stopwatch, clock: Clock) -> MergeReport:
    """The report of a run that ends now."""
    ended = time.perf_counter()
    totals = [stopwatch.total(name) for name in _STAGES]
    logs = _at_work(outcome.logs)
    about = ran.about or _about_all(logs)
    backends = list(dict.fromkeys(log.worker.backend for log in logs))
    files = inputs.files(outcome.counts, ran.sizes)
    # The run starts when its devices have started, if only devices work.
    started = clock.started if "cpu" in backends else max(clock.started, outcome.began)
    measured = MergeReport(
        inputs=files,
        output=ran.output,
        items=sum(file.items for file in files),
        nbytes=sum(file.nbytes for file in files),
        written=outcome.written,
        unique=ran.unique,
        dropped=outcome.dropped,
        order=inputs.order.describe(),
        backend="+".join(backends),
        device=about.device,
        backend_why=ran.backend_why,
        kernel=about.kernel,
        launch=about.launch,
        launch_why=about.launch_why,
        chunks=outcome.chunks,
        chunk_bytes=outcome.largest,
        shrunk_to=about.shrunk_to,
        workers=outcome.workers,
        checked=ran.checked,
        wall=clock.before + ended - clock.called,
        start_up=clock.before + started - clock.called,
        plan=stopwatch.total("plan").seconds,
        busy=ended - started,
        stages=tuple(Stage(total.name, total.seconds, total.nbytes) for total in totals if total.seconds > 0),
        peak_memory=peak_memory(),
        version=__version__,
        timeline=stopwatch.timeline(),
        ceilings=_ceilings(backends, inputs.order.costs_as, outcome.workers),
        expected=ran.expected.seconds if ran.expected is not None else 0.0,
        kind=ran.kind,
        worker_reports=tuple(_worker(log, stopwatch.origin) for log in outcome.logs),
        kinds=_kinds(outcome.logs, ran.expected),
        parts=ran.parts,
        joined=ran.joined,
    )
    return bounded(measured)


def _at_work(logs: Sequence[WorkerLog]) -> list[WorkerLog]:
    """The workers that did chunks; of a run without any, those that were there."""
    return [log for log in logs if log.chunks] or [log for log in logs if log.started] or list(logs)


def _about_all(logs: Sequence[WorkerLog]) -> About:
    """The names of what the workers ran on; the first is the one that did most."""
    ranked = sorted(logs, key=lambda log: -log.nbytes)
    kinds = {log.worker.backend: log.worker.about() for log in reversed(ranked)}
    kinds = dict(reversed(kinds.items()))
    first = next(iter(kinds.values()), About())
    if len(kinds) == 1:
        return first
    return About(
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
    known = costs.load()
    found = known.ceilings(backends[0], items, min(workers, cores()))
    return tuple(Ceiling(*one, known.source) for one in found)


def _worker(log: WorkerLog, origin: float) -> WorkerReport:
    about = log.worker.about()
    first, last = (max(0.0, moment - origin) if moment else 0.0 for moment in (log.first, log.last))
    return WorkerReport(
        name=log.worker.name,
        backend=log.worker.backend,
        device=about.device,
        kernel=about.kernel,
        launch=about.launch,
        chunks=log.chunks,
        nbytes=log.nbytes,
        hands=log.worker.hands,
        busy=log.busy,
        first=first,
        last=last,
        note=log.note,
    )


def _kinds(logs: Sequence[WorkerLog], expected: Mix | None) -> tuple[KindReport, ...]:
    whole = max(1, sum(log.nbytes for log in logs))
    mix = expected or Mix(0.0)
    return tuple(
        KindReport(
            backend,
            sum(log.worker.backend == backend for log in logs),
            mix.alone.get(backend, 0.0),
            mix.shares.get(backend, 0.0),
            sum(log.nbytes for log in logs if log.worker.backend == backend) / whole,
        )
        for backend in dict.fromkeys(log.worker.backend for log in logs)
    )
