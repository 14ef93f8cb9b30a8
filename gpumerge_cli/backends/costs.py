"""How long a merge of files will take on each backend: start-up, then bytes over the slowest of what moves them.

The built-in constants were measured once; `gpumerge info --measure` takes them afresh on the user's machine.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from gpumerge_cli.cache import cache_folder

BACKENDS = ("reference", "cpu", "gpu")
_MERGING = ("index", "check", "kernel")


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes a second. See `predict` for how they go together.

    *_start_up: from the start of the process to the first byte. storage: what all threads together read and write.
    *_keys, *_lines: checking and merging, of the CPU and the reference by one core; records count as keys. link: to and
    from the device, each way. source: where they were measured.
    """

    # 2 cores of an AMD EPYC, ext4: data/results/costs-cpu.json.
    reference_start_up: float = 0.24
    reference_keys: float = 0.32e9
    reference_lines: float = 0.0031e9
    cpu_start_up: float = 0.28
    cpu_keys: float = 2.0e9
    cpu_lines: float = 0.39e9
    # NVIDIA H200, 16 cores, ext4: data/results/costs-gpu.json.
    storage: float = 4.4e9
    gpu_start_up: float = 0.63
    gpu_keys: float = 35e9
    gpu_lines: float = 4.8e9
    link: float = 16.6e9
    source: str = "built in"

    def predict(self, backend: str, lines: bool, nbytes: int, cores: int, sharing: int = 1) -> float:
        """Seconds for `nbytes` of input, and its part of a start-up that `sharing` runs share.

        Raises KeyError for a backend that is none.
        """
        items = "lines" if lines else "keys"
        start_up, rate = (getattr(self, f"{backend}_{name}") for name in ("start_up", items))
        start_up /= sharing
        if backend == "gpu":
            # The host's cores only read and write, and all goes on at once.
            return float(start_up + nbytes / min(self.storage, self.link, rate))
        # The cores that merge are those that read and write.
        workers = 1 if backend == "reference" else cores
        return float(start_up + nbytes / self.storage + nbytes / (rate * workers))

    def ceilings(self, backend: str, lines: bool, cores: int) -> list[tuple[str, tuple[str, ...], float, int]]:
        """What bounds a run: a name, the stages that take turns at it, bytes of input a second, how many do it at once.

        backend: one of BACKENDS.
        """
        merging = float(getattr(self, f"{backend}_{'lines' if lines else 'keys'}"))
        storage = ("storage", ("read", "write"), self.storage, cores)
        if backend == "gpu":
            link = [(f"link, {way}", (stage,), self.link, 1) for way, stage in (("up", "upload"), ("down", "download"))]
            return [storage, *link, ("merging", _MERGING, merging, 1)]
        return [storage, ("merging", _MERGING, merging * cores, cores)]


def costs_file() -> Path:
    """Where the user's measured costs are kept."""
    return Path(cache_folder()) / "costs.json"


def load(path: Path | None = None) -> Costs:
    """What was measured on this machine; the built-in constants if that cannot be read or makes no sense."""
    names = {field.name for field in fields(Costs)}
    try:
        found = json.loads((path or costs_file()).read_text(encoding="utf-8"))
        numbers = {name: float(found[name]) for name in names - {"source"}}
        if all(math.isfinite(number) and number > 0 for number in numbers.values()):
            return Costs(**numbers, source=str(found["source"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return Costs()


def save(costs: Costs, path: Path | None = None) -> Path:
    """Keep measured costs for `load`. Raises OSError."""
    place = path or costs_file()
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    temporary.write_text(json.dumps(asdict(costs), indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, place)
    return place
