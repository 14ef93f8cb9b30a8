"""The cost model: its predictions, the choice of auto, and the file that keeps it."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from gpumerge_cli import costs
from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu import presence
from gpumerge_cli.backends.select import choose, select
from gpumerge_cli.costs import Costs, load_costs, save_costs
from gpumerge_cli.engine.check import raise_disorder
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.order.kinds import Order
from tests.jobs_of import job_of

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
    monkeypatch.setattr(costs, "load_costs", lambda: MODEL)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})

    def none(device: int) -> None:
        raise DeviceError("there is none")

    monkeypatch.setattr(gpu, "create", none)
    monkeypatch.setattr(backends_select, "compile_seconds", lambda: 0.0)
    monkeypatch.setattr(presence, "is_present", lambda: True)
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
    monkeypatch.setattr(presence, "is_present", lambda: False)
    for nbytes in (10**6, 10**11, None):
        assert select("auto", 0, keys, nbytes).why == "the only backend of this machine"


def test_a_mix_is_no_slower_than_what_it_is_made_of() -> None:
    model = replace(MODEL, storage=8e9, link=6e9)
    for nbytes in (10**6, 10**9, 10**10, 10**11):
        for items in ("keys", "lines"):
            for cores in (1, 2, 16):
                mix = model.mix(items, nbytes, cores, gpus=1)
                assert mix.seconds <= mix.alone["cpu"] + 1e-9
                assert mix.alone["cpu"] == pytest.approx(model.predict("cpu", items, nbytes, cores))
                assert mix.alone["gpu"] == pytest.approx(model.predict("gpu", items, nbytes, cores))
                assert sum(mix.shares.values()) == pytest.approx(1)
    one_kind = model.mix("keys", 10**11, 4, gpus=0)
    assert (one_kind.shares, set(one_kind.alone), one_kind.pays) == ({"cpu": 1.0}, {"cpu"}, False)
    assert one_kind.seconds == pytest.approx(model.predict("cpu", "keys", 10**11, 4))
    alone = model.mix("keys", 10**11, 4, gpus=1, host=False)
    assert (alone.seconds, alone.shares) == (alone.alone["gpu"], {"gpu": 1.0})
    assert model.mix("keys", 10**11, 4, gpus=2, host=False).seconds < alone.seconds


def test_a_gpu_joins_where_it_helps() -> None:
    slow_start = replace(MODEL, gpu_start_up=3.0)
    assert not slow_start.mix("keys", 10**8, 16, gpus=1).pays  # done before the GPU is there
    assert slow_start.mix("lines", 10**11, 2, gpus=1).pays
    assert not slow_start.mix("lines", 10**9, 2, gpus=1, compiling=1000.0).pays
    bound = replace(MODEL, storage=1e9)
    assert not bound.mix(
        "keys", 10**10, 64, gpus=1, compiling=20.0
    ).pays  # the storage gives no more than the CPU takes
    assert replace(MODEL, cpu_lines=1e6).mix("lines", 10**10, 1, gpus=1).pays  # the GPU alone is sooner


def test_auto_has_all_work_that_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "load_costs", lambda: MODEL)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(backends_select, "compile_seconds", lambda: 0.0)
    monkeypatch.setattr(presence, "is_present", lambda: True)
    monkeypatch.setattr(backends_select, "count_of_gpus", lambda: 2)
    lines = Order.lines()
    small = choose("auto", None, lines, 10**6)
    assert (small.host, small.devices) == (backends_select.host, ())
    huge = choose("auto", None, lines, 10**11)
    assert huge.host is not None
    assert [device.name for device in huge.devices] == ["gpu 0"]
    assert huge.why.startswith("both, ")
    assert "a test" in huge.why
    assert [device.name for device in choose("auto", (), lines, 10**11).devices] == ["gpu 0", "gpu 1"]
    monkeypatch.setattr(costs, "load_costs", lambda: replace(MODEL, link=100e9, gpu_lines=100e9))
    fed = choose("auto", (), lines, 10**11)  # the host's two cores read and write no more than one GPU merges
    assert [device.name for device in fed.devices] == ["gpu 0"]
    assert len(choose("gpu", (), lines, 10**11).devices) == 2
    assert [device.name for device in choose("gpu", (1,), lines, 10).devices] == ["gpu 1"]
    assert choose("gpu", (1,), lines, 10).host is None
    assert choose("cpu", (7,), lines, 10**11).devices == ()
    for asked in ("auto", "gpu"):
        with pytest.raises(DeviceError, match="no GPU 7: there are 2, numbered 0 and 1; choose another device"):
            choose(asked, (0, 7), lines, 10**11)
    monkeypatch.setattr(presence, "is_present", lambda: False)
    monkeypatch.setattr(backends_select, "count_of_gpus", lambda: 0)
    assert choose("auto", None, lines, 10**11).devices == ()
    assert choose("auto", (), lines, 10**11).devices == ()
    with pytest.raises(DeviceError, match="no GPU 0: none is there; choose another device, or leave it out"):
        choose("auto", (0,), lines, 10**11)


def test_files_of_drivers_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call on arrays asks whether there is a GPU."""
    asked: list[str] = []
    presence.is_present.cache_clear()
    monkeypatch.setattr(presence.os.path, "exists", lambda name: asked.append(name) or False)
    order = Order.of("int32")
    assert [select("auto", 0, order, 64).backend.name for _ in range(3)] == ["cpu"] * 3
    monkeypatch.undo()
    presence.is_present.cache_clear()
    assert asked == list(presence._DEVICE_FILES)


def test_a_check_takes_no_device_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "is_present", lambda: False)
    monkeypatch.setattr(backends_select, "count_of_gpus", lambda: 0)
    (tmp_path / "a.txt").write_bytes(b"a\n")
    with open_inputs((str(tmp_path / "a.txt"),), Items()) as inputs:
        raise_disorder(job_of("check", (), backend="auto"), inputs)
        raise_disorder(job_of("check", (), backend="cpu", devices=(7,)), inputs)
        with pytest.raises(DeviceError, match="no GPU 7: none is there"):
            raise_disorder(job_of("check", (), backend="auto", devices=(7,)), inputs)


def test_what_is_kept_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert load_costs() == Costs()
    place = save_costs(MODEL)
    assert place == tmp_path / "gpumerge" / "costs.json"
    assert load_costs() == MODEL


def test_costs_of_older_versions_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = save_costs(MODEL)
    numbers = asdict(MODEL)
    del numbers["written"], numbers["mapped"]
    place.write_text(json.dumps(numbers))
    built_in = Costs()
    assert load_costs() == replace(MODEL, written=built_in.written, mapped=built_in.mapped)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", json.dumps({**asdict(MODEL), "link": 0}), json.dumps({**asdict(MODEL), "link": "fast"}),
     json.dumps({**asdict(MODEL), "link": -1.0}), json.dumps({**asdict(MODEL), "link": float("inf")}), "[" * 100_000,
     json.dumps({**asdict(MODEL), "storage": float("nan")})],
)  # fmt: skip
def test_what_makes_no_sense_is_left(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    save_costs(MODEL).write_text(text)
    assert load_costs() == Costs()


def test_costs_that_others_may_have_written_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = save_costs(MODEL)
    assert load_costs() == MODEL
    for path in (place, place.parent):
        before = path.stat().st_mode
        path.chmod(before | 0o002)
        assert load_costs() == Costs()
        assert f"the cache is not used: others may write to {path}" in capsys.readouterr().err
        path.chmod(before)
    place.parent.chmod(0o777)
    with pytest.raises(PermissionError):
        save_costs(MODEL)


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_pipe_in_the_place_of_the_costs_is_not_waited_for(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = save_costs(MODEL)
    place.unlink()
    os.mkfifo(place, 0o600)
    place.parent.chmod(mode)
    found: list[Costs] = []
    reader = threading.Thread(target=lambda: found.append(load_costs()))
    reader.start()
    reader.join(5)
    waited = reader.is_alive()
    if waited:
        os.close(os.open(place, os.O_WRONLY))
        reader.join()
    assert (waited, found) == (False, [Costs()])
