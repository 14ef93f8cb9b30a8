"""Typed keys on a GPU, or on what stands in for one: sorts, merges, and the first invalid value."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from gpumerge_cli.engine import local_sorts
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.order.key_kinds import KINDS
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.engine.fake_gpu import stand_in
from tests.jobs_of import merge_job, sort_job
from tests.linekeys import key_of
from tests.random_values import INVALID, NULLS, RANDOM, parameters_of

TYPED = [kind.name for kind in KINDS if kind.typed]
NAMED = (b"NA", b"n/a")
ON = Resources("gpu", threads=2)


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(local_sorts, "_budget_at_once", lambda *arguments: None)  # which asks for the device's memory
    return request.getfixturevalue("gpu_backend") if request.param == "gpu" else stand_in(monkeypatch)


def key_for(kind: str) -> LineKey:
    return LineKey(kind, 1, end_field=1, null_values=NAMED, parameters=parameters_of(kind))


def lines_of(kind: str, chance: Random, bad: list[bytes]) -> list[bytes]:
    made = [RANDOM[kind](chance) for _ in range(300)] + [chance.choice(NULLS) for _ in range(30)] + bad
    chance.shuffle(made)
    return [b"%d,%s" % (at % 5, text) for at, text in enumerate(made)]


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("places", [("", "first"), ("first", "last"), ("last", "first")])
@pytest.mark.usefixtures("device", "small_chunks")
def test_sorts_and_merges(kind: str, places: tuple[str, str], tmp_path: Path, seed: int) -> None:
    nulls, invalid = places
    chance = Random(seed)
    typed = LineKey(
        kind, 1, end_field=1, reverse=chance.random() < 0.5, nulls=nulls, invalid=invalid, null_values=NAMED
    )
    order = LineOrder((typed, LineKey("numeric", 0, end_field=0)), b",", stable=True)
    key, items = key_of(order), Items("text", lines=order)
    drawn = lines_of(kind, chance, INVALID)
    (tmp_path / "all").write_bytes(b"".join(line + b"\n" for line in drawn))
    out = tmp_path / "out"
    run_job(sort_job((str(tmp_path / "all"),), str(out), items, ON))
    assert out.read_bytes().splitlines() == sorted(drawn, key=key)
    halves = [sorted(half, key=key) for half in (drawn[:99], drawn[99:])]
    names = [str(tmp_path / name) for name in "ab"]
    for name, half in zip(names, halves, strict=True):
        Path(name).write_bytes(b"".join(line + b"\n" for line in half))
    run_job(merge_job(tuple(names), str(out), items, ON))
    assert out.read_bytes().splitlines() == sorted(halves[0] + halves[1], key=key)


@pytest.mark.parametrize("kind", ["hex", "size", "duration", "address"])
@pytest.mark.usefixtures("device", "small_chunks")
def test_an_invalid_value_is_named(kind: str, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    order = LineOrder(
        (LineKey("numeric", 0, end_field=0), LineKey(kind, 1, end_field=1, null_values=NAMED)), b",", stable=True
    )
    items = Items("text", lines=order)
    drawn = sorted(lines_of(kind, chance, [b"?"]), key=lambda line: line.split(b",")[0])
    at = next(number for number, line in enumerate(drawn, 1) if line.endswith(b",?"))
    name, out = str(tmp_path / "in"), tmp_path / "out"
    Path(name).write_bytes(b"".join(line + b"\n" for line in drawn))
    for job in (sort_job((name,), str(out), items, ON), merge_job((name, name), str(out), items, ON)):
        with pytest.raises(InputError, match=r"'\?' is not an? ") as caught:
            run_job(job)
        assert caught.value.where == f"{name}:{at}"
        assert not out.exists()
