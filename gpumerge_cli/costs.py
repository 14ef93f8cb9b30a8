"""The expected time of a merge of files on each backend: start-up, then bytes over the rate of the slowest stage.

The built-in constants were measured once; `gpumerge info --measure` takes them afresh on the user's machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import lru_cache

from gpumerge_cli.cache import cache_folder, read_cached, write_cached
from gpumerge_cli.dataclass import dataclass, field, field_names

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from pathlib import Path

BACKENDS = ("cpu", "gpu")
_ADDED = ("written", "mapped", "cpu_sorted_keys", "cpu_sorted_lines", "gpu_sorted_keys", "gpu_sorted_lines")
_MERGING = ("index", "check", "kernel")


_CLEARLY = 1.5
"""A run on the CPU is clearly longer than a GPU's start-up if it takes this many times as long."""
_SOONER = 0.85
"""The GPU joins the CPU if both together need at most this share of the CPU's time."""
_SATURATED = 8
"""More cores than this hardly write more to a mapped file."""


@dataclass(frozen=True)
class Mix:
    """The estimate of a run."""

    seconds: float
    """Seconds of the whole program."""
    alone: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each kind of worker would take for all of the work."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """The part of the bytes that each kind does."""
    pays: bool = False
    """Whether the GPU should join the CPU."""


@dataclass(frozen=True)
class Costs:
    """The constants of the cost model: seconds for start-ups, else bytes a second. Records count as keys.

    See `predict` for how they go together. The constants of sorting are never measured anew.
    """

    # A machine with an H200, 16 cores, ext4; that result is no longer kept.
    cpu_start_up: float = 0.15
    """Seconds from the start of the process to the first byte, on the CPU."""
    cpu_keys: float = 3.5e9
    """The bytes of keys that one core checks and merges."""
    cpu_sorted_keys: float = 0.2e9
    """The bytes of keys that one core sorts."""
    cpu_sorted_lines: float = 0.1e9
    """The bytes of lines that one core sorts."""
    gpu_sorted_keys: float = 20e9
    """The bytes of keys that a GPU sorts."""
    gpu_sorted_lines: float = 1.0e9
    """The bytes of lines that a GPU sorts."""
    # 2 cores of an AMD EPYC, ext4: data/results/epyc/costs.json.
    cpu_lines: float = 0.39e9
    """The bytes of lines that one core checks and merges."""
    # NVIDIA H200, 16 cores, ext4: data/results/h200/costs.json.
    storage: float = 4.4e9
    """The bytes that all threads together read and write by calls."""
    # The same machine: 4.9 to 6.0 by two threads, 13.3 by eight.
    written: float = 6.0e9
    """The bytes that all threads together write to one file by calls."""
    mapped: float = 1.6e9
    """The bytes that each core writes to a mapped file."""
    gpu_start_up: float = 0.63
    """Seconds from the start of the process to the first byte, on a GPU."""
    gpu_keys: float = 35e9
    """The bytes of keys that a GPU checks and merges."""
    gpu_lines: float = 4.8e9
    """The bytes of lines that a GPU checks and merges."""
    link: float = 16.6e9
    """To the device and from it, each way."""
    source: str = "built in"
    """The machine that the constants were measured on."""

    def predict(
        self, backend: str, items: str, nbytes: int, cores: int, sharing: int = 1, compiling: float = 0.0
    ) -> float:
        """Seconds for `nbytes` of input, and its part of a start-up that `sharing` runs share.

        items: "keys" or "lines", with "sorted_" ahead for a sort. compiling: seconds that kernels still have to be
        compiled for, which is part of the start-up. Raises KeyError for an unknown backend.
        """
        start_up = float(getattr(self, f"{backend}_start_up"))
        return (start_up + compiling) / sharing + nbytes / self._rate(backend, items, cores)

    def _rate(self, backend: str, items: str, cores: int, gpus: int = 1) -> float:
        """Bytes a second once a backend has started."""
        merging = float(getattr(self, f"{backend}_{items}"))
        if backend == "gpu":
            # The host's cores only read and write, and all goes on at once.
            return min(self.moving(cores), gpus * min(self.link, merging))
        # The cores that merge are those that read and write.
        return 1 / (1 / self.moving(cores) + 1 / (merging * cores))

    def maps(self, cores: int) -> bool:
        """Whether so many cores write a file faster by a mapping than by calls, which take turns."""
        return min(cores, _SATURATED) * self.mapped > self.written

    def moving(self, cores: int) -> float:
        """Bytes a second that so many cores read and write."""
        return max(self.storage, min(cores, _SATURATED) * self.mapped) if self.maps(cores) else self.storage

    def gpus_fed(self, items: str, cores: int) -> int:
        """The most GPUs that so many cores can read and write for. items: as of predict."""
        return math.ceil(self.moving(cores) / min(self.link, float(getattr(self, f"gpu_{items}"))))

    def mix(
        self, items: str, nbytes: int, cores: int, *, gpus: int, host: bool = True, sharing: int = 1,
        compiling: float = 0.0,
    ) -> Mix:  # fmt: skip
        """The estimate for the CPU, if `host`, and `gpus` GPUs on the chunks of one merge.

        A GPU starts while the CPU works. From then on each works at its own rate, within the rate of the storage. The
        other arguments are those of predict.
        """
        starts = {"cpu": self.cpu_start_up / sharing, "gpu": (self.gpu_start_up + compiling) / sharing}
        rates = {name: self._rate(name, items, cores, max(1, gpus)) for name in BACKENDS}
        alone = {name: starts[name] + nbytes / rates[name] for name in BACKENDS if gpus or name == "cpu"}
        if not host:
            return Mix(alone["gpu"], {"gpu": alone["gpu"]}, {"gpu": 1.0})
        ahead = rates["cpu"] * max(0.0, starts["gpu"] - starts["cpu"])
        if not gpus or ahead >= nbytes:
            return Mix(alone["cpu"], alone, {"cpu": 1.0})
        both = min(self.moving(cores), sum(rates.values()))
        seconds = max(starts.values()) + (nbytes - ahead) / both
        by_cpu = (ahead + (nbytes - ahead) * rates["cpu"] / sum(rates.values())) / nbytes
        helps = alone["cpu"] > _CLEARLY * starts["gpu"] and seconds < _SOONER * alone["cpu"]
        pays = helps or alone["gpu"] < alone["cpu"]
        return Mix(seconds, alone, {"cpu": by_cpu, "gpu": 1 - by_cpu}, pays)

    def ceilings(self, backend: str, items: str, cores: int) -> list[tuple[str, tuple[str, ...], float, int]]:
        """A bound of a run: a name, the stages that take turns at it, bytes of input a second, how many do it at once.

        backend: one of BACKENDS. items: as of predict.
        """
        merging = float(getattr(self, f"{backend}_{items}"))
        storage = ("storage", ("read", "write"), self.moving(cores), cores)
        if backend == "gpu":
            link = [(f"link, {way}", (stage,), self.link, 1) for way, stage in (("up", "upload"), ("down", "download"))]
            return [storage, *link, ("merging", _MERGING, merging, 1)]
        return [storage, ("merging", _MERGING, merging * cores, cores)]


_BUILT_IN = Costs()


def costs_file() -> str:
    """The file that keeps the user's measured costs."""
    return os.path.join(cache_folder(), "costs.json")


def load_costs() -> Costs:
    """The costs measured on this machine; the built-in constants if those cannot be read or make no sense."""
    path = costs_file()
    if not os.path.exists(path):  # as most often: each job asks several times, and opening a missing file takes longer
        return _BUILT_IN
    try:
        return _parsed(read_cached(path))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return _BUILT_IN


@lru_cache(maxsize=1)
def _parsed(data: bytes) -> Costs:
    """The costs in a file. Raises ValueError, KeyError, TypeError or RecursionError."""
    import json

    names = set(field_names(Costs))
    # The built-in constants stand for anything that older versions did not measure.
    found = {name: getattr(Costs, name) for name in _ADDED} | dict(json.loads(data))
    numbers = {name: float(found[name]) for name in names - {"source"}}
    if not all(math.isfinite(number) and number > 0 for number in numbers.values()):
        raise ValueError
    return Costs(**numbers, source=str(found["source"]))


def save_costs(costs: Costs) -> Path:
    """Keep measured costs for `load_costs`. Returns the file. Raises OSError."""
    import json
    from dataclasses import asdict
    from pathlib import Path

    place = Path(costs_file())
    write_cached(place, (json.dumps(asdict(costs), indent=2) + "\n").encode())
    return place
