"""A cluster of two worker processes, shared by all tests of one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import needs

pytest.importorskip("distributed", reason=needs.reason("distributed"), exc_type=ImportError)

from gpumerge_cli.cluster.connect import Connection, connected


@pytest.fixture(scope="session")
def cluster() -> Iterator[Connection]:
    """Started once: it takes seconds."""
    with connected("local:2") as found:
        yield found
