"""Answers of stores that have no end or make no sense: they are not read on, and one short line tells of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from tests.stores.conftest import line_of, url_of
from tests.stores.lying_store import ENDLESS, Lying

pytestmark = pytest.mark.usefixtures("two_tries")


@pytest.mark.one_of_each
@pytest.mark.parametrize("scheme", ["s3", "gs", "http"])
@pytest.mark.parametrize("lie", ["no end", "far end"])
def test_an_answer_without_end_is_not_read_on(
    lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str, lie: str
) -> None:
    """The store gets rid of no more than the buffers between the two hold."""
    lying.forced = {"GET": lie}
    assert invoke(["merge", "-q", url_of(lying, scheme), "-o", "out.txt"]) == 2
    err = line_of(capsys)
    assert re.search("the store gave more than the |Content-Length Header missing", err), err
    assert lying.given < ENDLESS // 2
    assert not Path("out.txt").exists()


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", ["GET", "POST uploads", "PUT part", "POST complete"])
@pytest.mark.parametrize("lie", ["no end", "far end", "endless error"])
def test_no_answer_of_a_store_without_end_is_read_on(
    lying: Lying, capsys: pytest.CaptureFixture[str], kind: str, lie: str
) -> None:
    """Answers that are no objects, too, and refusals."""
    lying.forced = {kind: lie}
    assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", "s3://bucket/out.txt"]) == 2
    err = line_of(capsys)
    assert "the store's answer has no end" in err or "the store gave more than the " in err
    assert lying.given < ENDLESS // 2


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("scheme", ["s3", "gs"])
@pytest.mark.parametrize("lie", ["elsewhere", "word", "below 0", "long text"])
def test_an_answer_that_makes_no_sense_is_one_line(
    lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str, lie: str
) -> None:
    lying.forced = {"HEAD": lie}
    assert invoke(["merge", "-q", url_of(lying, scheme), "-o", "out.txt"]) == 2
    err = line_of(capsys)
    assert err.startswith(f"gpumerge: {scheme}://bucket/a.txt: ")
    assert len(err) < 600
    assert "--debug" not in err
    if scheme == "s3" and lie != "long text":
        assert f": the store at {lying.address} gives an answer that makes no sense (" in err


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", ["GET", "POST uploads", "PUT part", "POST complete"])
@pytest.mark.parametrize("lie", ["elsewhere", "long text"])
def test_no_text_of_a_store_is_shown_in_any_length(
    lying: Lying, capsys: pytest.CaptureFixture[str], kind: str, lie: str
) -> None:
    lying.forced = {kind: lie}
    assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", "s3://bucket/out.txt"]) == 2
    err = line_of(capsys)
    assert len(err) < 900
    assert "--debug" not in err
