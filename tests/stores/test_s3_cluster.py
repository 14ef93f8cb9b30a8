"""Workers of a cluster read inputs by URL; the pool is that of tests/cluster, without Dask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import sorting
from gpumerge_cli.engine.merge import merge_files
from gpumerge_cli.engine.request import MergeRequest, SortFilesRequest
from gpumerge_cli.engine.sort import sort_files
from gpumerge_cli.errors import OutputError
from tests.cluster.test_twins import Here
from tests.stores.conftest import Bucket


@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
def test_inputs_by_url(bucket: Bucket, unique: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng = np.random.default_rng(1)
    keys = [np.sort(rng.integers(0, 3000, 5000, np.int32)) for _ in range(2)]
    names = tuple(bucket.put(f"{number}.i32", one.tobytes()) for number, one in enumerate(keys))
    expected = np.sort(np.concatenate(keys))
    expected = np.unique(expected) if unique else expected
    output = str(tmp_path / "out.i32")
    jobs: list[tuple[Any, Any]] = [(merge_files, MergeRequest), (sort_files, SortFilesRequest)]
    for do, request in jobs:
        do(request(names, output, unique=unique), machines=Here(1, 0))
        assert np.array_equal(np.fromfile(output, np.int32), expected)
        with pytest.raises(OutputError, match="a cluster writes plain files"):
            do(request(names, bucket.url("out.i32")), machines=Here(1, 0))
    assert not bucket.uploads
