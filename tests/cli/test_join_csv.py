"""gpumerge join on CSV: rows of one length, columns by their names, and distinct names in the header."""

from __future__ import annotations

import csv
import io
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_A, ONLY_B, PAIRED_A, PAIRS

PEOPLE = b"id,name,note\n1,ada,x\n2,bob,y\n"
TOWNS = b"id,town,note\n1,oslo,z\n3,rome,w\n"


def run(folder: Path, *words: str, a: bytes = PEOPLE, b: bytes = TOWNS, suffix: str = "") -> int:
    """The exit code of a join of files with this content, whose output is the file out."""
    names = [folder / f"{name}{suffix}" for name in "ab"]
    for name, data in zip(names, (a, b), strict=True):
        name.write_bytes(data)
    return door.invoke(["join", "-q", *words, *map(str, names), "--output", str(folder / "out")])


def joined(folder: Path, *words: str, a: bytes = PEOPLE, b: bytes = TOWNS, suffix: str = "") -> str:
    assert run(folder, *words, a=a, b=b, suffix=suffix) == 0
    return (folder / "out").read_text()


@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["plain", "with, comma", 'with "quote"', "with\nnewline"])
def test_all_rows_have_the_fields_of_the_header(text: str, end: str, kind: str, tmp_path: Path) -> None:
    files = []
    for name, keys in (("a", (1, 2, 2, 4)), ("b", (2, 3, 4, 4))):
        out = io.StringIO()
        rows = [["id", f"{name} {text}", "note"], *([key, text, f"{name}{at}"] for at, key in enumerate(keys))]
        csv.writer(out, lineterminator=end).writerows(rows)
        files.append(out.getvalue().encode())
    assert run(tmp_path, "--csv", "-j", "id", "--type", kind, a=files[0], b=files[1]) == 0
    data = (tmp_path / "out").read_bytes()
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    with_b = kind not in ("anti", "semi")
    assert rows[0] == ["id", f"a {text}", "note"] + [f"b {text}", "note_2"] * with_b
    assert {len(row) for row in rows} == {len(rows[0])}
    keys = [row[0] for row in rows[1:]]
    assert (
        keys
        == {
            "inner": ["2", "2", "4", "4"],
            "left": ["1", "2", "2", "4", "4"],
            "right": ["2", "2", "3", "4", "4"],
            "outer": ["1", "2", "2", "3", "4", "4"],
            "anti": ["1"],
            "semi": ["2", "2", "4"],
        }[kind]
    )


@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_pyarrow_reads_what_is_written(kind: str, tmp_path: Path) -> None:
    reader = pytest.importorskip("pyarrow.csv", reason="needs pyarrow, another reader of CSV")
    a, b = PEOPLE + b'4,"x\ny","z, w"\n', TOWNS + b'4,"""",\n'
    assert run(tmp_path, "--csv", "-j", "id", "--type", kind, a=a, b=b) == 0
    options = reader.ParseOptions(newlines_in_values=True)
    table = reader.read_csv(tmp_path / "out", parse_options=options).to_pydict()
    assert [*table] == ["id", "name", "note"] + ["town", "note_2"] * (kind not in ("anti", "semi"))
    assert table["id"] == {
        "inner": [1, 4], "left": [1, 2, 4], "right": [1, 3, 4], "outer": [1, 2, 3, 4], "anti": [2], "semi": [1, 4],
    }[kind]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "head", "row"),
    [
        ([], "id,name,note,town,note_2", "2,bob,y,,"),
        (["-v1"], "id,name,note,town,note_2", "2,bob,y,,"),
        (["-e", "none"], "id,name,note,town,note_2", "2,bob,y,none,none"),
        (["-o", "id,name,town"], "id,name,town", "2,bob,"),
        (["-o", "id", "-o", "town,name"], "id,town,name", "2,,bob"),
        (["-o", "name town 0"], "name,town,id", "bob,,2"),
        (["-o", "1.note,2.note"], "note,note_2", "y,"),
        (["-o", "2.note,1.note"], "note_2,note", ",y"),
        (["-o", "2.note"], "note", '""'),
        (["-o", "2.3"], "note", '""'),
        (["-o", "town,  name"], "town,name", ",bob"),
        (["-o", " town, 1.note ,id"], "town,note,id", ",y,2"),
        (["-o", "2.id,id,1.id"], "id_2,id,id", ",2,2"),
        (["-o", "0,1.3,town,2.3"], "id,note,town,note_2", "2,y,,"),
        (["-o", "0,1.2"], "id,name", "2,bob"),
        (["-o", "auto", "-o", "name"], "name", "bob"),
    ],
)
def test_columns_by_name_and_number(words: list[str], head: str, row: str, tmp_path: Path) -> None:
    found = joined(tmp_path, "--csv", "-a1", "-j", "id", *words).splitlines()
    assert found[0] == head
    assert row in found[1:]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("note", "-o note: both files have a field 'note'; write 1.note or 2.note"),
        ("1.town", "-o 1.town: no header has a field '1.town'; did you mean town? use 0 for the key, or id, name,"),
        ("wage", "-o wage: no header has a field 'wage'; use 0 for the key, or id, name, 1.note, town, 2.note"),
        ("out.csv", "-o out.csv: -o chooses columns in join, as in coreutils; the output's file is --output out.csv"),
        ("id,id,", "-o '': no header has a field ''"),
        ("1.4", "-o 1.4: the header of A has 3 fields; use 0 for the key, or 1.id, 1.name, 1.note"),
        ("id,2.9", "-o 2.9: the header of B has 3 fields; use 0 for the key, or 2.id, 2.town, 2.note"),
    ],
)
def test_columns_that_cannot_be_named(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--csv", "-j", "id", "-o", words) == 2
    found = capsys.readouterr().err
    assert found.startswith(f"gpumerge: {said}")
    assert found.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_numbers_past_the_fields_of_the_first_line_are_empty_without_a_header(tmp_path: Path) -> None:
    assert joined(tmp_path, "--csv", "-o", "0,1.9", a=b"1,x\n", b=b"1,y\n") == "1,\n"
    assert joined(tmp_path, "--csv", "-o", "1.1, 2.2", a=b"1,x\n", b=b"1,y\n") == "1,y\n"
    assert joined(tmp_path, "-t,", "--header", "-o", "1.9", a=b"id,a\n1,x\n", b=b"id,b\n1,y\n") == "\n\n"


@pytest.mark.parametrize(("name", "number"), [("id", 1), ("person", 0)])
@pytest.mark.parametrize(("words", "csv"), [(["--field"], "--csv "), (["--csv", "--field"], ""), (["--csv", "-j"], "")])
def test_a_key_that_one_file_names_otherwise_is_explained(
    words: list[str], csv: str, name: str, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, *words, name, b=b"person,id_of\n1,q\n") == 2
    own = "-1 id -2 NAME" if number else "-1 NAME -2 person"
    said = capsys.readouterr().err
    assert f"the header has no field '{name}'; if its key has another name, write {csv}{own}; " in said
    own = own.replace("NAME", "person" if number else "id")
    assert joined(tmp_path, "--csv", *own.split(), "-o", "0,id_of", b=b"person,id_of\n1,q\n") == "id,id_of\n1,q\n"


def test_names_for_each_file_without_csv_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "-1", "id", "-2", "person") == 2
    said = capsys.readouterr().err
    assert said == "gpumerge: -1: invalid field number 'id'; count from 1, as 2 or 1,2n; --csv takes names\n"


def test_names_in_separate_words_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--csv", "-j", "id", "-o", "id", "town") == 2
    assert capsys.readouterr().err.endswith(
        "3 files were named; a join needs two, A and B; between columns write commas, as -o id,name\n"
    )


@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_a_record_of_one_empty_field_is_not_a_blank_line(kind: str, tmp_path: Path) -> None:
    a, b = b"id,\n1,\n2,x\n3,\n", b"id,b\n1,\n2,y\n"
    for words in (["-o", "1.2"], ["-o", "1.2", "-e", ""]):
        assert "" not in joined(tmp_path, "--csv", "-j", "id", "--type", kind, *words, a=a, b=b).splitlines()
    if kind in ("inner", "semi"):
        assert joined(tmp_path, "--csv", "--header", "--type", kind, a=b"id\n\n2\n", b=b"id\n\n2\n") == 'id\n""\n2\n'


def test_names_of_columns_may_hold_what_separates_lists(tmp_path: Path) -> None:
    a, b = b'id,"last, first",first name\n1,x,y\n', b"id,1.b\n1,z\n"
    assert joined(tmp_path, "--csv", "-o", "first name,1.b", a=a, b=b) == "first name,1.b\ny,z\n"
    assert joined(tmp_path, "--csv", "-o", "last, first", "-o", "id", a=a, b=b) == '"last, first",id\nx,1\n'


def test_a_key_of_two_names_is_that_of_a(tmp_path: Path) -> None:
    words = ["--csv", "-1", "id", "-2", "person", "--type", "outer"]
    b = b"person,id\n1,q\n3,r\n"
    assert joined(tmp_path, *words, b=b) == "id,name,note,id_2\n1,ada,x,q\n2,bob,y,\n3,,,r\n"
    assert joined(tmp_path, *words, "-o", "0,person,1.id,2.id", b=b) == "id,person,id,id_2\n1,1,1,q\n2,,2,\n3,3,,r\n"


def test_columns_of_an_empty_file_are_empty(tmp_path: Path) -> None:
    assert joined(tmp_path, "--csv", "-j", "id", "-a1", "-o", "id,town", b=b"") == "id,\n1,\n2,\n"
    assert joined(tmp_path, "--csv", "-j", "id", "-a1", b=b"") == PEOPLE.decode()


def test_a_quoted_name_keeps_its_quotes_in_front_of_its_suffix(tmp_path: Path) -> None:
    a, b = b"id,n,n_2\r\n1,a,b\r\n", b'id,"n"\r\n1,c\r\n'
    assert run(tmp_path, "--csv", "--header", a=a, b=b) == 0
    assert (tmp_path / "out").read_bytes() == b'id,n,n_2,"n_2_2"\r\n1,a,b,c\r\n'


def test_a_short_row_leaves_no_hole(tmp_path: Path) -> None:
    assert joined(tmp_path, "--csv", "-j", "id", a=b"id,x,y\n1,p\n", b=b"id,z\n1,q\n") == "id,x,y,z\n1,p,,q\n"


@pytest.mark.parametrize("suffix", ["", ".csv", ".txt"])
@pytest.mark.parametrize("option", ["--field", "--on"])
def test_field_takes_text_for_csv(option: str, suffix: str, tmp_path: Path) -> None:
    expected = "id,name,note,town,note_2\n1,ada,x,oslo,z\n"
    for words in ([option, "id"], [option, "id:n"], ["--csv", option, "id"], [option, "1", "--header"]):
        assert joined(tmp_path, *words, suffix=suffix) == expected
    assert joined(tmp_path, option, "1", a=b"1,x\n", b=b'1,"y, z"\n', suffix=suffix) == '1,x,"y, z"\n'
    a, b = b"x,day,id\np,1,9\nq,1,10\n", b"id,y,day\n10,r,1\n"
    for words in ([option, "day,id:n"], [option, "day", option, "id:n"]):
        assert joined(tmp_path, *words, a=a, b=b, suffix=suffix) == "day,id,x,y\n1,10,q,r\n"
    assert joined(tmp_path, option, "id", "-t;", a=b"id;x\n1;p\n", b=b"id;y\n1;q\n") == "id;x;y\n1;p;q\n"


@pytest.mark.parametrize("option", ["--field", "--on"])
def test_field_names_fields_of_records(option: str, tmp_path: Path) -> None:
    a = np.array([(2, 1, 5), (1, 3, 6)], [("g", "<i2"), ("id", "<i4"), ("x", "u1")])
    b = np.array([(2, 1, 7), (1, 9, 8)], [("g", "<i2"), ("id", "<i4"), ("y", "u1")])
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    files = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    for words in ([option, "g:r,id"], [option, "g:r", option, "id"]):
        assert door.invoke(["join", "-q", *words, *files, "--output", str(tmp_path / "out.npy")]) == 0
        found = np.load(tmp_path / "out.npy")
        assert found.dtype.names == ("g", "id", "x", "y")
        assert found.tolist() == [(2, 1, 5, 7)]


def test_field_of_the_command_line_or_of_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["-j", "id"], ["-1", "id"], ["-2", "id"]):
        assert run(tmp_path, "--csv", "--field", "id", *words) == 2
        assert f"{words[0]} and --field both name the key; leave {words[0]} or --field out" in capsys.readouterr().err
    monkeypatch.setenv("GPUMERGE_JOIN_FIELD", "town")
    assert joined(tmp_path, "--csv", "-j", "1", "--header").splitlines()[1:] == ["1,ada,x,oslo,z"]
    assert joined(tmp_path, "-j", "1", a=b'a "b\n', b=b"a c\n") == 'a "b c\n'
    monkeypatch.setenv("GPUMERGE_JOIN_KEY", "2")
    monkeypatch.setenv("GPUMERGE_JOIN_FIELD", "id")
    assert joined(tmp_path).splitlines()[1:] == ["1,ada,x,oslo,z"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--field", "idd"], "--field idd: the header has no field 'idd'; did you mean id? use one of id, name, note"),
        (["--field", "3"], "--field 3 means field 3, or the field '3' if line 1 is a header; add --header for the name,"
                           " or --no-header for the number"),
        (["--field", "id,id"], "--field id,id names a field twice; name each once"),
    ],
)  # fmt: skip
def test_wrong_fields_are_told_by_their_option(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = b"id,3,note\n1,ada,x\n" if words[1] == "3" else PEOPLE
    assert run(tmp_path, *words, a=a) == 2
    assert capsys.readouterr().err.endswith(f"{said}\n")


@pytest.mark.skipif(shutil.which("join") is None, reason="needs join; install coreutils")
@pytest.mark.parametrize(
    "words",
    ["-o 1.1 1.2 2.2 A B", "-o 1.1\t1.2 2.2 A B", "-o auto -o 0 A B", "-o 0 -o auto A B", "A -o 1.1 2.2 B",
     "-o 1.1 1.2 -o 2.2 A B", "-o 1.1 1.2,2.2 A B", "-o auto -o 1.1 2.2 A B", "-o 1.1 1.1 B", "-o 1.1 -- 1.1 B",
     "-o auto 1.1 A B", "A B -o 1.1 2.2", "-o 1.1 A 2.2 B", "-o 1.1 -a1 1.2 A B", "-o 1.1 2.x A B"],
)  # fmt: skip
def test_columns_with_blanks_between(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("A", "a 1\nb 2\n"), ("B", "a x\nc y\n"), ("1.1", "a 7\n")):
        Path(name).write_text(text)
    line = words.split(" ")
    theirs = subprocess.run(["join", *line], capture_output=True, text=True, check=False)
    assert bool(door.invoke(["join", "-q", *line])) is bool(theirs.returncode)
    assert capfd.readouterr().out == theirs.stdout


@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize("filler", ["", "none"])
def test_rows_of_any_length_fill_their_columns(filler: str, kind: str, tmp_path: Path, seed: int) -> None:
    """Rows lack fields at their ends, or have empty ones too many; some have quotes."""
    chance = random.Random(seed)
    texts = ["x", "", "a, b", 'a "quote"', "é" * 30, "y" * 70]
    sides: list[list[list[str]]] = []
    for name, widths in (("a", 4), ("b", 3)):
        keys = sorted(f"{chance.randrange(60):02}" for _ in range(chance.choice([0, 1, 90])))
        rows = [[key, *(chance.choice(texts) for _ in range(widths - 1))] for key in keys]
        lines = []
        for row in rows:
            kept = row[: chance.choice([widths, widths, chance.randint(1, widths)])]
            row[len(kept) :] = [""] * (widths - len(kept))
            quoted = [field and '"' + field.replace('"', '""') + '"' for field in kept]
            plain = not any(mark in field for field in kept for mark in ',"') and chance.random() < 0.5
            lines.append(",".join(kept if plain else quoted) + "," * chance.choice([0, 0, widths - len(kept) + 2]))
        head = ",".join(["key", *(f"{name}{at}" for at in range(1, widths))])
        (tmp_path / name).write_text("\n".join([head, *lines, ""]))
        sides.append([[field or filler for field in row] for row in rows])
    a, b = sides
    shows, rest = JOIN_TYPES[kind], [filler] * 2 * (kind not in ("anti", "semi"))
    expected = []
    for key in sorted({row[0] for row in a + b}):
        some_a, some_b = ([row for row in side if row[0] == key] for side in (a, b))
        if shows & PAIRS:
            expected += [x + y[1:] for x in some_a for y in some_b]
        if shows & (PAIRED_A if some_b else ONLY_A):
            expected += [x + rest for x in some_a]
        if shows & ONLY_B and not some_a:
            expected += [[key, *[filler] * 3, *y[1:]] for y in some_b]
    words = ["--csv", "-j", "key", "--type", kind, *["-e", filler] * bool(filler)]
    found = joined(tmp_path, *words, a=(tmp_path / "a").read_bytes(), b=(tmp_path / "b").read_bytes())
    assert list(csv.reader(io.StringIO(found, newline="")))[1:] == expected


@pytest.mark.parametrize("count", [3, 4000])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", ["inner", "outer"])
def test_a_row_with_more_fields_than_line_1_is_an_error(
    kind: str, side: int, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is found where it lies, also in a group that is read again for each row of A; empty fields are no error."""
    rows = [f"k,{'x' * 40}" + "," * (at % 3) for at in range(count)]
    rows[count - 2] += ",,more"
    files = ["id,a\nk,y\n" if side else "id,a\nk,y\nl,z\n", "id,a\n" + "\n".join(rows)]
    a, b = (file.encode() for file in (files if side else files[::-1]))
    assert run(tmp_path, "--field", "id", "--type", kind, "-S", "64K", a=a, b=b) == 2
    fields = rows[count - 2].count(",") + 1
    assert capsys.readouterr().err == (
        f"gpumerge: {tmp_path / 'ab'[side]}:{count}: this row has {fields} fields, and line 1 has 2; check its quotes "
        "and the separator, or choose columns with -o\n"
    )
    assert not (tmp_path / "out").exists()
    assert run(tmp_path, "--field", "id", "--type", kind, "-o", "auto", a=a, b=b) == 0
    rows[count - 2] = rows[0]
    mended = "\n".join(["id,a", *rows]).encode()
    a, b = (a, mended) if side else (mended, b)
    found = joined(tmp_path, "--field", "id", "--type", kind, a=a, b=b).splitlines()
    assert {row.count(",") for row in found} == {2}
