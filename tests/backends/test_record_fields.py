"""Records by several fields on every backend, against Python's sort by tuples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from tests.backends.test_merge import merged
from tests.backends.test_sort import sorted_by
from tests.backends.test_unique import unique_merge
from tests.record_fields import FieldCase, field_cases, python_key


def examples(backend: Backend, many: int) -> settings:
    """A GPU compiles its kernels for each order."""
    return settings(max_examples=many if backend.name == "cpu" else 3)


def test_merges_equal_a_stable_sort(backend: Backend) -> None:
    @examples(backend, 150)
    @given(case=field_cases(), kernel=st.sampled_from(KERNELS))
    def check(case: FieldCase, kernel: str) -> None:
        workspace = backend.workspace(case.order, 1)
        policy = backend.resolve(LaunchRequest(kernel), case.order)
        result = merged(workspace, [run.tobytes() for run in case.runs], policy)
        assert workspace.disorder() is None
        workspace.close()
        assert result == case.merged.tobytes()

    check()


def test_sorts_are_stable(backend: Backend) -> None:
    @examples(backend, 150)
    @given(case=field_cases(most_runs=1))
    def check(case: FieldCase) -> None:
        assert sorted_by(backend, case.order, case.items[0].tobytes(), SortRequest()) == case.merged.tobytes()

    check()


def test_the_first_of_equal_records_is_kept(backend: Backend) -> None:
    @examples(backend, 100)
    @given(case=field_cases())
    def check(case: FieldCase) -> None:
        keys = [python_key(record, case.fields) for record in case.merged]
        falls = [number == 0 or keys[number] != keys[number - 1] for number in range(len(keys))]
        first = case.merged.view(f"V{case.dtype.itemsize}")[np.array(falls, bool)]
        data, dropped = unique_merge(backend, case.order, [run.tobytes() for run in case.runs], Equals.FIRST)
        assert (data, dropped) == (first.tobytes(), len(keys) - len(first))

    check()


def test_the_first_disorder_is_found(backend: Backend) -> None:
    @examples(backend, 100)
    @given(case=field_cases(most_runs=1))
    def check(case: FieldCase) -> None:
        keys = [python_key(record, case.fields) for record in case.items[0]]
        falls = [number for number, (a, b) in enumerate(pairwise(keys), 1) if b < a]
        workspace = backend.workspace(case.order, 1)
        data = case.items[0].tobytes()
        workspace.staging(len(data))[:] = np.frombuffer(data, np.uint8)
        workspace.upload([len(data)])
        found = workspace.disorder()
        workspace.close()
        assert (found and found.offset) == (falls[0] * case.dtype.itemsize if falls else None)

    check()
