"""Headers that differ by a trifle: the error shows both, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

CHANGE = "change one of them: names of columns are compared by all their bytes"
LONG = ",".join(f"column_{number}" for number in range(50))


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("id,name", "ID,name", "its header 'ID,name' differs only by case from that of a.csv, 'id,name'"),
        ("id,name", "id, name ", "its header 'id, name ' differs only by blanks from that of a.csv, 'id,name'"),
        ("id,name", "Id ,name", "its header 'Id ,name' differs only by case and blanks from that of a.csv, 'id,name'"),
        ("id,\u00e4", "id,\u00c4", "its header 'id,\u00c4' differs only by case from that of a.csv, 'id,\u00e4'"),
        ('id,"a b"', "id,ab", "its header 'id,ab' differs only by blanks from that of a.csv, 'id,\"a b\"'"),
        (
            f"id,{LONG},name",
            f"id,{LONG},Name",
            "its header ...'n_48,column_49,Name' differs only by case from that of a.csv, ...'n_48,column_49,name'",
        ),
    ],
)  # fmt: skip
def test_a_trifle_is_named(
    first: str,
    second: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(f"{first}\n1,2\n", encoding="utf-8")
    Path("b.csv").write_text(f"{second}\n1,2\n", encoding="utf-8")
    for command in ("merge", "union", "check"):
        assert invoke([command, "--csv", "--header", "1", "a.csv", "b.csv"]) == 2
        assert capfd.readouterr().err.startswith(f"gpumerge: b.csv:1: {told}; {CHANGE}\n")


def test_columns_of_tabs_are_more_than_blanks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("id\tname\n1\t2\n")
    Path("b.tsv").write_text("idn\tame\n1\t2\n")
    assert invoke(["merge", "--csv", "-t", "\\t", "--header", "1", "a.tsv", "b.tsv"]) == 2
    assert "b.tsv:1: its header 'idn\\tame' differs from that of a.tsv, 'id\\tname'; give all" in capfd.readouterr().err
