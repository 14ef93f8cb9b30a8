"""A chunk reports the stages that took time, and only stages that its kind of items has."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.native.chunks import Chunks, CpuChunkWorker
from gpumerge_cli.native.library import library
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


@pytest.mark.parametrize(("order", "indexed"), [(Order.of("int32"), False), (Order.lines(), True)])
def test_rows_only_are_indexed(order: Order, indexed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = backends_select.host()
    data = np.frombuffer(b"1\n2\n\0\0\0\n", np.uint8)
    source = SimpleNamespace(name="a", size=8, extent=None, read_into=lambda _, out: np.copyto(np.asarray(out), data))
    work = SimpleNamespace(sources=[source], order=order, check=False, equals=Equals.ALL, margin=None, join=None)
    worker = CpuChunkWorker(Chunks(work, backend.resolve(LaunchRequest(), order), ()), 100)  # type: ignore[arg-type]
    merge = library().gm_chunk

    def slow(*arguments: object) -> object:
        status = merge(*arguments)
        arguments[-2].index_ns = arguments[-2].kernel_ns = 10**6  # type: ignore[attr-defined]
        return status

    monkeypatch.setattr(library(), "gm_chunk", slow)
    worker.run([(0, 8)], 0, 0)
    assert "kernel" in {span.name for span in worker.spans}
    assert ("index" in {span.name for span in worker.spans}) == indexed
    worker.close()
