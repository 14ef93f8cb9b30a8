"""gpumerge info: the devices and libraries of this machine, and the choice of --backend auto."""

from __future__ import annotations

import platform
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cli.options.typed import InfoOptions
from gpumerge_cli.json_text import dumps

if TYPE_CHECKING:
    from rich.table import Table

_LIBRARIES = ("numpy", "cupy", "typer", "rich", "botocore", "obstore")
_CUPY_WHEELS = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
_SIZES = (10**5, 10**8, 10**9)


def run_info(options: InfoOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    if options.config:
        from gpumerge_cli.cli.effective import effective_settings, show_effective
        from gpumerge_cli.cli.settings import Settings

        _give(effective_settings(Settings()), options.json, show_effective)
        return
    if options.measure:
        _measure()
    _give(_facts(measure=options.measure), options.json, _show)


def _give(facts: dict[str, Any], as_json: bool, show: Callable[[dict[str, Any]], None]) -> None:
    if as_json:
        print(dumps(facts, indent=2))
    else:
        show(facts)


def _measure() -> None:
    import sys

    from gpumerge_cli import costs
    from gpumerge_cli.backends.select import available
    from gpumerge_cli.compare.costs import measure_costs
    from gpumerge_cli.errors import output_error

    found = {name: info for name, info, _ in available() if info is not None}
    devices = ", ".join(info.name for info in found.values())
    measured = measure_costs(tuple(found), devices, progress=lambda line: print(line, file=sys.stderr, flush=True))
    try:
        place = costs.save_costs(measured)
    except OSError as error:
        raise output_error(error, str(costs.costs_file())) from None
    print(f"saved in {place}", file=sys.stderr)


def _facts(*, measure: bool = False) -> dict[str, Any]:
    from dataclasses import asdict

    from gpumerge_cli import __version__, costs
    from gpumerge_cli.backends.select import available, select
    from gpumerge_cli.compare.array_sorts import measure_array_sorts
    from gpumerge_cli.launch import LaunchRequest
    from gpumerge_cli.order.kinds import Order

    backends = [
        {
            "backend": name,
            "available": found is not None,
            "device": found.name if found else "",
            "memory": found.memory if found else 0,
            "details": dict(found.details) if found else {},
            "why_not": why_not,
        }
        for name, found, why_not in available()
    ]
    picks = []
    for order, nbytes in product((Order.of("int32"), Order.lines()), _SIZES):
        chosen = select("auto", 0, order, nbytes)
        launch = chosen.backend.resolve(LaunchRequest(), order)
        picks.append(
            {
                "items": order.describe(),
                "nbytes": nbytes,
                "backend": chosen.backend.name,
                "why": chosen.why,
                "launch": launch.describe(),
                "launch_why": launch.why,
            }
        )
    return {
        "version": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "backends": backends,
        "gpus": _gpus(measure) if any(one["backend"] == "gpu" and one["available"] for one in backends) else [],
        "sorts": [asdict(one) for one in measure_array_sorts()] if measure else [],
        "costs": asdict(costs.load_costs()),
        "auto": picks,
    }


def _gpus(measure: bool) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from gpumerge_cli.backends.gpu.links import gpus

    return [asdict(gpu) for gpu in gpus(measure=measure)]


def _version(library: str) -> str:
    """The installed version of a library, found without importing it; "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    for name in _CUPY_WHEELS if library == "cupy" else (library,):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def _show(facts: dict[str, Any]) -> None:
    from gpumerge_cli.compare.array_sorts import ArraySorts
    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.units import format_bytes

    console = PlainConsole()
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in facts["libraries"].items())
    console.print(f"gpumerge {facts['version']}, Python {facts['python']}, {facts['system']}")
    console.print(versions)
    devices = _table("backend", "device", "memory", "details")
    for one in facts["backends"]:
        if one["available"]:
            details = ", ".join(f"{name} {value}" for name, value in one["details"].items())
            devices.add_row(
                one["backend"], one["device"], format_bytes(one["memory"]) if one["memory"] else "", details
            )
        else:
            devices.add_row(one["backend"], "unavailable", "", one["why_not"])
    console.print(devices)
    if facts["gpus"]:
        console.print(_links(facts["gpus"]))
    picks = _table("items", "bytes", "auto picks", "launch", "why")
    for pick in facts["auto"]:
        picks.add_row(pick["items"], format_bytes(pick["nbytes"]), pick["backend"], pick["launch"], pick["why"])
    console.print(picks)
    for sorts in facts["sorts"]:
        console.print(ArraySorts(**sorts).describe())


def _links(gpus: list[dict[str, Any]]) -> Table:
    """All GPUs, with the links that each has."""
    from gpumerge_cli.units import format_bytes, format_throughput

    table = _table("GPU", "name", "memory", "link to host", "reads memory of", "measured")
    for gpu in gpus:
        peers = ", ".join(f"GPU {peer}" for peer in gpu["peers"])
        alone = "no other" if len(gpus) > 1 else ""
        measured = ", ".join(f"{name} {format_throughput(rate, 1)}" for name, rate in gpu["rates"].items())
        link = gpu["link"] or "unknown"
        table.add_row(str(gpu["number"]), gpu["name"], format_bytes(gpu["memory"]), link, peers or alone, measured)
    return table


def _table(*names: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table
