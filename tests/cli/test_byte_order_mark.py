"""A byte order mark belongs to no key, and stands at the front of the output, once, if the first input has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke as main

BOM = b"\xef\xbb\xbf"


def _run(tmp_path: Path, files: list[bytes], *arguments: str) -> bytes:
    names = []
    for number, data in enumerate(files):
        names.append(str(tmp_path / f"{number}.csv"))
        Path(names[-1]).write_bytes(data)
    out = tmp_path / "out.csv"
    assert main([*arguments, *names, "--output", str(out)]) == 0
    return out.read_bytes()


@pytest.mark.parametrize("key", ["1:n", "1", "1,2"])
@pytest.mark.parametrize("record", [b"9,i", b'"9",i', b'"9","i\nj"', b'9,"a""b"'])
def test_sort_of_csv(tmp_path: Path, key: str, record: bytes) -> None:
    out = _run(tmp_path, [BOM + record + b"\n2,b\n"], "sort", "--csv", "-k", key)
    assert out == BOM + b"2,b\n" + record + b"\n"


@pytest.mark.parametrize("csv", [["--csv", "-k", "1:n"], ["-n"], []])
@pytest.mark.parametrize("first", [True, False])
def test_merge(tmp_path: Path, csv: list[str], first: bool) -> None:
    marked, plain = BOM + b"2,b\n9,i\n", b"1,a\n5,e\n"
    out = _run(tmp_path, [marked, plain] if first else [plain, marked], "merge", "-q", *csv)
    assert out == BOM * first + b"1,a\n2,b\n5,e\n9,i\n"


@pytest.mark.parametrize("command", ["union", "intersect"])
def test_sets(tmp_path: Path, command: str) -> None:
    assert _run(tmp_path, [b"1,a\n", BOM + b"1,a\n"], command, "-q", "--csv", "-k", "1:n") == b"1,a\n"


def test_anti_join(tmp_path: Path) -> None:
    files = [BOM + b"1,a\n2,b\n", b"1,x\n"]
    assert _run(tmp_path, files, "join", "-q", "--csv", "-j", "1", "--type", "anti") == BOM + b"2,b\n"


@pytest.mark.parametrize("command", [["merge", "--csv", "-k", "1"], ["merge"], ["sort", "--csv", "-k", "1"]])
@pytest.mark.parametrize("header", [[], ["--header", "1"]])
def test_each_part_begins_with_it(tmp_path: Path, command: list[str], header: list[str]) -> None:
    """Each part is a file of its own. Merged again, the mark is there once."""
    head = b"k,v\n" * bool(header)
    (tmp_path / "a.csv").write_bytes(BOM + head + b"1,a\n2,b\n3,c\n4,d\n")
    words = [*command, *header, str(tmp_path / "a.csv")]
    assert main([*words, "--parts", "2", "-o", str(tmp_path / "p{part}.csv")]) == 0
    parts = [tmp_path / f"p{number}.csv" for number in range(2)]
    assert [part.read_bytes() for part in parts] == [BOM + head + b"1,a\n2,b\n", BOM + head + b"3,c\n4,d\n"]
    assert main(["merge", "-q", *header, *map(str, parts), "-o", str(tmp_path / "again.csv")]) == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


def test_check(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(BOM + b"2,b\n1,a\n")
    assert main(["check", "-q", "--csv", "-k", "1:n", str(tmp_path / "a.csv")]) == 1
    (tmp_path / "a.csv").write_bytes(BOM + b"1,b\n2,a\n")
    assert main(["check", "-q", "--csv", "-k", "1", str(tmp_path / "a.csv")]) == 0


def test_a_header_keeps_its_mark(tmp_path: Path) -> None:
    out = _run(tmp_path, [BOM + b"id,v\n2,b\n", BOM + b"id,v\n1,a\n"], "merge", "-q", "--csv", "--field", "id:n")
    assert out == BOM + b"id,v\n1,a\n2,b\n"


@pytest.mark.parametrize("arguments", [["merge", "-q"], ["sort", "--csv", "-k", "1"]])
def test_a_file_of_the_mark_alone(tmp_path: Path, arguments: list[str]) -> None:
    assert _run(tmp_path, [BOM], *arguments) == BOM


def test_lines_of_sort_are_bytes(tmp_path: Path) -> None:
    assert _run(tmp_path, [BOM + b"1\n2\n"], "sort") == b"2\n" + BOM + b"1\n"


def test_a_joined_header_has_no_mark_inside(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Quotes behind a mark are quotes."""
    mark = b"\xef\xbb\xbf"
    (tmp_path / "plain.csv").write_bytes(b"id,y\n1,k\n3,l\n")
    (tmp_path / "marked.csv").write_bytes(mark + b'"id","y"\n"1",k\n"3",l\n')
    plain, marked = str(tmp_path / "plain.csv"), str(tmp_path / "marked.csv")
    for files, ahead in (((plain, marked), b""), ((marked, marked), mark), ((marked, plain), mark)):
        assert main(["join", "-q", "--csv", "--field", "id", *files]) == 0
        header = capfdbinary.readouterr().out.split(b"\n")[0]
        assert header.startswith(ahead + (b'"id",' if files[0] == marked else b"id,"))
        assert mark not in header.removeprefix(ahead)
        assert header.endswith(b',"y_2"' if files[1] == marked else b",y_2")


def test_headers_that_differ_are_shown_without_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_bytes(BOM + b"id,x\n1,2\n")
    (tmp_path / "b.csv").write_bytes(BOM + b"id,y\n1,2\n")
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    assert main(["merge", "--header", "1", *names]) == 2
    told = capsys.readouterr().err
    assert f"its header 'id,y' differs from that of {names[0]}, 'id,x'; give" in told
