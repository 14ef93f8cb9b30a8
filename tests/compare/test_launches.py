"""Launches of a bench: every kernel in every way that it moves tiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.compare.contest import untimed_row
from gpumerge_cli.compare.launches import variants
from gpumerge_cli.launch import FAN_INS, LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order
from tests.reference import ReferenceBackend

OLDER = replace(TUNED_ON, capability=75, shared_memory=64 << 10)


class OfLimits(ReferenceBackend):
    """Decides as the GPU's backend does on a device of these limits."""

    def __init__(self, limits: DeviceLimits) -> None:
        self._limits = limits

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2) -> LaunchPolicy:
        return resolve(request, order, self._limits, runs)


def names(limits: DeviceLimits, runs: int = 2) -> list[str]:
    found = variants(OfLimits(limits), Order.of("int32"), ("path", "tiled", "basic"), runs)
    return [untimed_row(policy, 1).name for policy in found]


@pytest.mark.parametrize("runs", FAN_INS)
def test_a_device_with_bulk_copies_shows_what_older_ones_do(runs: int) -> None:
    usual = ["basic", "tiled full", "tiled exact", "path, vector loads"]
    assert names(TUNED_ON, runs) == [*usual, "path"]
    assert names(OLDER, runs) == usual
