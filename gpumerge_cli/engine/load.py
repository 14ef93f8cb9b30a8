"""Whole inputs in memory, so that kernels are compared on the same resident data."""

from __future__ import annotations

import numpy as np

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.check import raise_disorder
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.run import InputFile


@dataclass(frozen=True)
class LoadedRuns:
    """Every input as bytes (native keys, or lines that each end with a newline), and the order they share."""

    runs: tuple[Bytes, ...]
    order: Order
    inputs: tuple[InputFile, ...]


def load_runs(job: Job) -> LoadedRuns:
    """Read the inputs whole, checked for order if the job says so. Raises as run does."""
    with open_inputs(job.inputs, job.items, resources=job.resources) as inputs:
        if job.operation.check:
            raise_disorder(job, inputs)
        runs = []
        for source in inputs.sources:
            run = np.empty(source.size, np.uint8)
            source.read_into(0, run)
            runs.append(run)
        return LoadedRuns(tuple(runs), inputs.order, inputs.files())
