"""The cost model: its predictions, the choice of auto, and the file that keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from gpumerge_cli.backends import costs, gpu
from gpumerge_cli.backends.costs import Costs, load, save
from gpumerge_cli.backends.select import select
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order import Order

MODEL = Costs(
    cpu_start_up=0.5, cpu_keys=2e9, cpu_lines=5e8,
    gpu_start_up=1.0, gpu_keys=1e11, gpu_lines=1e10,
    storage=4e9, written=6e9, mapped=1e9, link=2e9, source="a test",
)  # fmt: skip


def test_predictions() -> None:
    assert MODEL.predict("cpu", "keys", 4 * 10**9, 2) == pytest.approx(0.5 + 1 + 1)
    assert MODEL.predict("cpu", "lines", 4 * 10**9, 4) == pytest.approx(0.5 + 1 + 2)
    assert MODEL.predict("cpu", "keys", 4 * 10**9, 2, 10) == pytest.approx(0.05 + 1 + 1)
    assert MODEL.predict("gpu", "keys", 4 * 10**9, 1) == pytest.approx(1 + 2)
    assert replace(MODEL, link=5e9).predict("gpu", "lines", 4 * 10**9, 1) == pytest.approx(1 + 1)
    with pytest.raises(AttributeError):
        MODEL.predict("tpu", "keys", 1, 1)


def test_many_cores_write_through_a_mapping() -> None:
    assert [MODEL.maps(cores) for cores in (1, 6, 7)] == [False, False, True]
    assert [MODEL.moving(cores) for cores in (1, 6, 7)] == [4e9, 4e9, 7e9]
    assert MODEL.predict("cpu", "keys", 4 * 10**9, 8) == pytest.approx(0.5 + 0.5 + 0.25)
    # Where calls are so slow that a mapping pays, both may still be slower than what was measured for storage.
    assert replace(MODEL, written=1e9).moving(2) == 4e9
    assert [Costs().maps(cores) for cores in (2, 16)] == [False, True]


def test_ceilings_are_what_predictions_are_made_of() -> None:
    nbytes = 4 * 10**9
    for items, cores in (("keys", 3), ("lines", 3), ("keys", 9)):
        rates = {name: rate for name, _, rate, _ in MODEL.ceilings("cpu", items, cores)}
        assert MODEL.predict("cpu", items, nbytes, cores) == pytest.approx(
            MODEL.cpu_start_up + nbytes / rates["storage"] + nbytes / rates["merging"]
        )
        slowest = min(rate for _, _, rate, _ in MODEL.ceilings("gpu", items, cores))
        assert MODEL.predict("gpu", items, nbytes, cores) == pytest.approx(MODEL.gpu_start_up + nbytes / slowest)


def test_auto_takes_the_shortest_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "load", lambda: MODEL)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})

    def none(device: int) -> None:
        raise DeviceError("there is none")

    monkeypatch.setattr(gpu, "create", none)
    monkeypatch.setattr(gpu, "compile_seconds", lambda: 0.0)
    monkeypatch.setattr(gpu, "in_sight", lambda: True)
    keys = Order.of("int32")
    small = select("auto", 0, keys, 10**6)
    assert small.backend.name == "cpu"
    assert "a test" in small.why
    assert not small.why.startswith("there is none; ")
    assert "gpu 1.50 s" in select("auto", 0, keys, 10**9).why
    huge = select("auto", 0, Order.lines(), 10**11)
    assert huge.backend.name == "cpu"
    assert huge.why.startswith("there is none; ")
    assert select("auto", 0, keys, None).backend.name == "cpu"
    # A GPU that no device file tells of is not spoken of.
    monkeypatch.setattr(gpu, "in_sight", lambda: False)
    for nbytes in (10**6, 10**11, None):
        assert select("auto", 0, keys, nbytes).why == "the only backend of this machine"


def test_what_is_kept_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert load() == Costs()
    place = save(MODEL)
    assert place == tmp_path / "gpumerge" / "costs.json"
    assert load() == MODEL


def test_costs_of_older_versions_are_taken(tmp_path: Path) -> None:
    numbers = asdict(MODEL)
    del numbers["written"], numbers["mapped"]
    (tmp_path / "costs.json").write_text(json.dumps(numbers))
    built_in = Costs()
    assert load(tmp_path / "costs.json") == replace(MODEL, written=built_in.written, mapped=built_in.mapped)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", json.dumps({**asdict(MODEL), "link": 0}), json.dumps({**asdict(MODEL), "link": "fast"}),
     json.dumps({**asdict(MODEL), "link": -1.0}), json.dumps({**asdict(MODEL), "link": float("inf")}), "[" * 100_000,
     json.dumps({**asdict(MODEL), "storage": float("nan")})],
)  # fmt: skip
def test_what_makes_no_sense_is_left(tmp_path: Path, text: str) -> None:
    (tmp_path / "costs.json").write_text(text)
    assert load(tmp_path / "costs.json") == Costs()


def test_costs_that_others_may_have_written_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = save(MODEL)
    assert load() == MODEL
    for path in (place, place.parent):
        before = path.stat().st_mode
        path.chmod(before | 0o002)
        assert load() == Costs()
        assert f"the cache is not used: others may write to {path}" in capsys.readouterr().err
        path.chmod(before)
    place.parent.chmod(0o777)
    with pytest.raises(PermissionError):
        save(MODEL)
