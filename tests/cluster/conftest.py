"""A cluster of two worker processes, shared by the tests of this folder that one process runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import needs

pytest.importorskip("distributed", reason=needs.reason("distributed"), exc_type=ImportError)

from gpumerge_cli.cluster.connect import Connection, connected


@pytest.fixture(scope="package")
def cluster() -> Iterator[Connection]:
    """Started once, which takes seconds, and ended with these tests: idle workers take a processor's time, too."""
    with connected("local:2") as found:
        yield found
