"""Kinds of keys whose parameters are made from the file of an option, on the way from every command line."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.groups import LineOptions
from gpumerge_cli.cli.values import make_options
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.order.key_kinds import KIND_OF, KeyKind
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.linekeys import key_of

LINES = [b"%d,%d" % (number, number % 7) for number in range(60)]


def changed(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> KeyKind:
    """Random keys with these fields of their kind."""
    kind = replace(KIND_OF["random"], **fields)
    monkeypatch.setitem(KIND_OF, "random", kind)
    return kind


def by_digest(data: bytes, key: LineKey) -> bytes:
    """Parameters that depend on all of the file and on the key."""
    return md5(data + bytes([key.start_field]), usedforsecurity=False).digest()


def options(file: str | None) -> LineOptions:
    found = make_options(command("sort"), {"random_source": file}, ())
    assert isinstance(found, LineOptions)
    return found


def test_every_command_gives_keys_the_parameters_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    changed(monkeypatch, draws=0, words=by_digest)
    monkeypatch.chdir(tmp_path)
    Path("seed").write_bytes(b"short")
    Path("a").write_bytes(b"\n".join([*LINES, b""]))
    order = ["-t,", "-k2,2R", "-k1,1R", "--random-source", "seed"]
    assert door.invoke(["sort", *order, "a", "-o", "sorted"]) == 0
    keys = (LineKey("random", field, end_field=field) for field in (1, 0))
    filled = tuple(replace(key, parameters=by_digest(b"short", key)) for key in keys)
    expected = sorted(LINES, key=key_of(LineOrder(filled, b",")))
    assert Path("sorted").read_bytes().splitlines() == expected
    assert door.invoke(["check", *order, "sorted"]) == 0
    assert door.invoke(["merge", "-q", *order, "sorted", "sorted", "-o", "merged"]) == 0
    assert Path("merged").read_bytes().splitlines() == [line for line in expected for _ in range(2)]
    assert door.invoke(["check", *order, "a"]) == 1
    assert "the same --random-source" in capfd.readouterr().err


def test_keys_of_a_kind_share_what_is_drawn() -> None:
    keys = with_parameters(
        LineOrder((LineKey("random"), LineKey("month"), LineKey("random", 1))), options(None), ()
    ).keys
    assert keys[0].parameters == keys[2].parameters != keys[0].kind.default
    assert keys[1].parameters == b""


def test_a_kind_that_draws_nothing_needs_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, draws=0)
    with pytest.raises(UsageError, match="-R needs a file") as caught:
        with_parameters(LineOrder((LineKey("random"),)), options(None), ())
    assert "--random-source" in caught.value.way_out


def test_a_file_that_does_not_suit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(data: bytes, key: LineKey) -> bytes:
        raise ValueError("it lists no value")

    changed(monkeypatch, draws=0, words=wrong)
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="it lists no value") as caught:
        with_parameters(LineOrder((LineKey("random"),)), options(str(tmp_path / "empty")), ())
    assert caught.value.where == str(tmp_path / "empty")
