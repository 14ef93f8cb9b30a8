"""gpumerge sort gives what the system's sort gives, whatever the options: a quick run of tests.against_sort."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from gpumerge_cli.backends.base import Backend
from tests.against_sort import Trial, disagreement, trials
from tests.test_line_keys import EXAMPLES, needs_sort


@needs_sort
@settings(
    max_examples=EXAMPLES // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(trial=trials())
def test_the_same_bytes_and_exit_codes(backend: Backend, trial: Trial, tmp_path: Path) -> None:
    if backend.name != "reference":
        assert disagreement(trial, backend.name, tmp_path) == ""


@pytest.mark.parametrize("disordered", [b"c\na\nb\n", b"b\nb\na"])
def test_merging_what_is_not_sorted_gives_what_sort_gives(disordered: bytes, tmp_path: Path) -> None:
    trial = Trial("merge", (b"-m",), {"f0": disordered, "f1": b"a\nb\nz\n"})
    for more in ((), (b"-u",), (b"-r",)):
        assert disagreement(Trial("merge", trial.arguments + more, trial.files), "cpu", tmp_path) == ""
