"""Names that are mistyped: options, their values, settings and keys of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("merge a --format npz", "npy"),
        ("merge a --backend cpus", "cpu"),
        ("sort a --kernel tilde", "tiled"),
        ("sort a --format nyp", "npy"),
        ("sort a --sort=numerik", "numeric"),
        ("merge a --sort=numerik", "numeric"),
        ("sort a --check=quit", "quiet"),
        ("merge a --dtype int23", "int32"),
        ("generate a --dtype flaot32", "float32"),
        ("generate a --shape blokcy", "blocky"),
    ],
)
def test_values_that_are_mistyped(words: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(words.split()) in (1, 2)
    assert f"; did you mean {near}? use " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("sort --no-such", ""),
        ("check --report", ""),
        ("bench --progress", ""),
        ("path --memory", ""),
        ("info --fsync", ""),
        ("merge --xyz", ""),
        ("merge --kernal", "--kernel"),
        ("merge --treads", "--threads"),
        ("merge --quite", "--quiet"),
        ("sort --revesre", "--reverse"),
    ],
)
def test_options_that_are_like_another(words: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*words.split(), "a"]) == 2
    said = capsys.readouterr().err
    assert (f"did you mean {near}?" in said) if near else ("did you mean" not in said)


def test_settings_that_are_like_another(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The prefix GPUMERGE_, which all settings share, does not make two names alike."""
    for name, near in (("GPUMERGE_THREDS", "GPUMERGE_THREADS"), ("GPUMERGE_XYZ", "")):
        monkeypatch.setenv(name, "1")
        assert invoke(["info"]) == 2
        said = capsys.readouterr().err
        assert (f"did you mean {near}?" in said) if near else ("did you mean" not in said)
        monkeypatch.delenv(name)


def test_a_job_with_a_mistyped_operation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jobs.toml").write_text('[[job]]\noperatoin = "merge"\ninputs = ["a"]\noutput = "b"\n')
    assert invoke(["batch", str(tmp_path / "jobs.toml")]) == 2
    assert "there is no key operatoin; did you mean operation?" in capsys.readouterr().err
