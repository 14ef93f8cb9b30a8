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


VCF = "##fileformat=VCFv4.2\n#CHROM\tPOS\tS1\n1\t5\ta\n"
WIDER = "##fileformat=VCFv4.2\n#CHROM\tPOS\tS1\tS2\n1\t6\ta\tb\n"
BY_SCHEMA = "add --schema union or intersect"
OF_TABS = "to go by the names of columns, add --csv -t '\\t' --schema union or intersect"


@pytest.fixture
def two_widths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.csv": "id,v\n1,a\n", "b.csv": "v,id,w\nb,2,c\n", "a.vcf": VCF, "b.vcf": WIDER}.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--field id a.csv b.csv", f", {BY_SCHEMA}, or join them"),
        ("--field id --headers union a.csv b.csv", f"; {BY_SCHEMA}\n"),
        ("--field id --headers first a.csv b.csv", f"; {BY_SCHEMA}, or give keys by their numbers\n"),
        ("--csv -k id --headers first a.csv b.csv", f"; {BY_SCHEMA}, or give keys by their numbers\n"),
        ("--csv --header 1 -k 1,1 --headers union a.csv b.csv", f"; {BY_SCHEMA}\n"),
        ("--header-prefix # -k 1,1 a.vcf b.vcf", f"; {OF_TABS}\n"),
        ("--header-prefix # --headers union -k 1,1 a.vcf b.vcf", f"; {OF_TABS}\n"),
        ("--header-prefix # --csv -t \\t --field #CHROM a.vcf b.vcf", f"; {BY_SCHEMA}\n"),
        ("--header 1 -t , -k 1,1 a.csv b.csv", ", to go by the names of columns, add --csv --schema union or "),
    ],
)
def test_other_columns_lead_to_schemas(
    words: str, told: str, two_widths: None, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = ["merge", "union", "check"] if "--headers first" in words else ["merge"]
    for command in commands:
        assert invoke([command, "-q", *words.split()]) == 2
        error = capfd.readouterr().err
        assert told in error
        assert error.count("\n") == 1 + (command == "check")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--csv --header 1 -k 1,1 a.csv b.csv", f"b.csv:1: 3 a.csv:1 2 {BY_SCHEMA}"),
        ("--header-prefix # -k 1,1 a.vcf b.vcf", f"b.vcf:2: 4 a.vcf:2 3 {OF_TABS}"),
    ],
)  # fmt: skip
def test_rows_of_another_width_below_the_first_header(
    words: str, told: str, two_widths: None, caplog: pytest.LogCaptureFixture
) -> None:
    assert invoke(["merge", "-q", "--headers", "first", *words.split(), "-o", "out"]) == 0
    where, columns, first, its, way_out = told.split(" ", 4)
    what = f"it has {columns} columns, but the output's header, from {first}, has {its}"
    assert caplog.messages == [f"gpumerge: {where} warning: {what}; {way_out}"]


def test_names_hold_where_columns_are_the_same(two_widths: None, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.vcf").write_text(WIDER.replace("##file", "##other"))
    words = ["--header-prefix", "#", "--csv", "-t", "\\t", "--field", "POS:n", "--headers", "first"]
    assert invoke(["merge", "-q", *words, "a.vcf", "b.vcf", "-o", "out"]) == 0
    Path("b.csv").write_text('"id",v\n2,b\n')
    assert invoke(["merge", "-q", "--field", "id", "--headers", "first", "a.csv", "b.csv", "-o", "out"]) == 0
    assert Path("out").read_text() == "id,v\n1,a\n2,b\n"
    assert capfd.readouterr().err == ""
