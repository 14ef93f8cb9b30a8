"""gpumerge info: the devices and libraries of this machine, and the choice of --backend auto."""

from __future__ import annotations

import platform
from itertools import product
from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.typed import InfoOptions
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.json_text import dumps

if TYPE_CHECKING:
    from rich.table import Table

    from gpumerge_cli.backends.gpu.links import Gpu
    from gpumerge_cli.compare.array_sorts import ArraySorts
    from gpumerge_cli.costs import Costs

_LIBRARIES = ("numpy", "cupy", "typer", "rich", "botocore", "obstore")
_CUPY_WHEELS = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
_SIZES = (10**5, 10**8, 10**9)


@dataclass(frozen=True)
class _Backend:
    """A backend on this machine."""

    backend: str
    """Its name."""
    available: bool
    device: str
    """The name of its device, "" if it is unavailable."""
    memory: int
    """Bytes of the device; 0 if unknown."""
    details: dict[str, str]
    why_not: str
    """The reason why it is unavailable, or ""."""


@dataclass(frozen=True)
class _Pick:
    """The choice of --backend auto for items of one kind."""

    items: str
    nbytes: int
    backend: str
    why: str
    launch: str
    launch_why: str


@dataclass(frozen=True)
class _Machine:
    """This machine. The fields are the keys of the JSON."""

    version: str
    python: str
    system: str
    libraries: dict[str, str]
    """The versions of installed libraries, "" for others."""
    backends: list[_Backend]
    gpus: list[Gpu]
    """Empty without an available GPU."""
    sorts: list[ArraySorts]
    """Our sort of arrays beside NumPy's, where it was measured."""
    costs: Costs
    auto: list[_Pick]


def run_info(options: InfoOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    if options.config:
        from gpumerge_cli.cli.effective import effective_settings, show_effective
        from gpumerge_cli.cli.settings import Settings

        config = effective_settings(Settings())
        if options.json:
            print(dumps(config.as_dict(), indent=2))
        else:
            show_effective(config)
        return
    if options.measure:
        _measure(quiet=options.quiet)
    machine = _machine(measure=options.measure)
    if options.json:
        from dataclasses import asdict

        print(dumps(asdict(machine), indent=2))
    else:
        _show(machine)


def _measure(*, quiet: bool) -> None:
    import sys

    from gpumerge_cli import costs
    from gpumerge_cli.backends.select import available
    from gpumerge_cli.compare.costs import measure_costs
    from gpumerge_cli.errors import output_error

    found = {name: info for name, info, _ in available() if info is not None}
    devices = ", ".join(info.name for info in found.values())

    def tell(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    measured = measure_costs(tuple(found), devices, progress=tell)
    try:
        place = costs.save_costs(measured)
    except OSError as error:
        raise output_error(error, str(costs.costs_file())) from None
    tell(f"saved in {place}")


def _machine(*, measure: bool) -> _Machine:
    from gpumerge_cli import __version__, costs
    from gpumerge_cli.backends.select import available, select
    from gpumerge_cli.compare.array_sorts import measure_array_sorts
    from gpumerge_cli.launch import LaunchRequest
    from gpumerge_cli.order.kinds import Order

    backends = [
        _Backend(name, False, "", 0, {}, why_not)
        if found is None
        else _Backend(name, True, found.name, found.memory, dict(found.details), why_not)
        for name, found, why_not in available()
    ]
    picks = []
    for order, nbytes in product((Order.of("int32"), Order.lines()), _SIZES):
        chosen = select("auto", 0, order, nbytes)
        launch = chosen.backend.resolve(LaunchRequest(), order)
        picks.append(_Pick(order.describe(), nbytes, chosen.backend.name, chosen.why, launch.describe(), launch.why))
    found_gpus: list[Gpu] = []
    if any(one.backend == "gpu" and one.available for one in backends):
        from gpumerge_cli.backends.gpu.links import gpus

        found_gpus = gpus(measure=measure)
    return _Machine(
        __version__,
        platform.python_version(),
        f"{platform.system()} {platform.release()} {platform.machine()}",
        {name: _version(name) for name in _LIBRARIES},
        backends,
        found_gpus,
        measure_array_sorts() if measure else [],
        costs.load_costs(),
        picks,
    )


def _version(library: str) -> str:
    """The installed version of a library, found without importing it; "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    for name in _CUPY_WHEELS if library == "cupy" else (library,):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def _show(machine: _Machine) -> None:
    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.units import format_bytes

    console = PlainConsole()
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in machine.libraries.items())
    console.print(f"gpumerge {machine.version}, Python {machine.python}, {machine.system}")
    console.print(versions)
    devices = new_table("backend", "device", "memory", "details")
    for one in machine.backends:
        if one.available:
            details = ", ".join(f"{name} {value}" for name, value in one.details.items())
            devices.add_row(one.backend, one.device, format_bytes(one.memory) if one.memory else "", details)
        else:
            devices.add_row(one.backend, "unavailable", "", one.why_not)
    console.print(devices)
    if machine.gpus:
        console.print(_links(machine.gpus))
    picks = new_table("items", "bytes", "auto picks", "launch", "why")
    for pick in machine.auto:
        picks.add_row(pick.items, format_bytes(pick.nbytes), pick.backend, pick.launch, pick.why)
    console.print(picks)
    for sorts in machine.sorts:
        console.print(sorts.describe())


def _links(gpus: list[Gpu]) -> Table:
    """All GPUs, with the links that each has."""
    from gpumerge_cli.units import format_bytes, format_throughput

    table = new_table("GPU", "name", "memory", "link to host", "reads memory of", "measured")
    for gpu in gpus:
        peers = ", ".join(f"GPU {peer}" for peer in gpu.peers)
        alone = "no other" if len(gpus) > 1 else ""
        measured = ", ".join(f"{name} {format_throughput(rate, 1)}" for name, rate in gpu.rates.items())
        link = gpu.link or "unknown"
        table.add_row(str(gpu.number), gpu.name, format_bytes(gpu.memory), link, peers or alone, measured)
    return table


def new_table(*names: str) -> Table:
    """An empty table with these columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table
