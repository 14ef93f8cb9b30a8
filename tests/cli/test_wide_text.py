"""Text with units of several bytes: it is refused by name where lines are taken apart by bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumerge_cli.cli import app

MARKED = (("utf-16", "UTF-16"), ("utf-32", "UTF-32"))
UNMARKED = (("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"))
TABLE = "id,name\n1,anna\n2,bob\n3,cleo\n"
COMMANDS = (
    ["merge"],
    ["merge", "-n"],
    ["merge", "-t,", "-k2,2"],
    ["merge", "--no-check"],
    ["union"],
    ["check"],
    ["check", "-n"],
    ["join", "-t,"],
    ["rank", "--at", "1"],
)
OF_TABLES = (
    ["merge", "--field", "id:n"],
    ["merge", "--csv", "-k1,1n"],
    ["check", "--field", "name"],
    ["sort", "--field", "id"],
    ["sort", "--csv", "-k1,1"],
    ["join", "--csv", "--field", "id"],
    ["join", "--csv", "-j", "1"],
    ["rank", "--field", "id:n", "--at", "1"],
)


def _written(folder: Path, encoding: str) -> list[str]:
    for name in ("a.csv", "b.csv"):
        (folder / name).write_bytes(TABLE.encode(encoding))
    return [str(folder / name) for name in ("a.csv", "b.csv")]


def _refused(command: list[str], names: list[str], name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert app.invoke([*command, "--backend", "cpu", *names]) == 2
    out, told = capfd.readouterr()
    assert out == ""
    assert f"a.csv: it holds {name} text" in told
    assert f"iconv -f {name} -t UTF-8" in told


@pytest.mark.parametrize("command", COMMANDS + OF_TABLES, ids=" ".join)
@pytest.mark.parametrize(("encoding", "name"), [*MARKED, ("big", "UTF-16")])
def test_marked_text_is_refused(
    command: list[str], encoding: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = _written(tmp_path, "utf-16-be" if encoding == "big" else encoding)
    if encoding == "big":
        for one in map(Path, names):
            one.write_bytes(b"\xfe\xff" + one.read_bytes())
    _refused(command, names, name, capfd)


@pytest.mark.parametrize("command", OF_TABLES, ids=" ".join)
@pytest.mark.parametrize(("encoding", "name"), UNMARKED)
def test_tables_are_refused_without_a_mark(
    command: list[str], encoding: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _refused(command, _written(tmp_path, encoding), name, capfd)


def test_a_format_that_is_said_takes_lines_as_they_are(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfe first\n")
    assert app.invoke(["merge", "-q", "--backend", "cpu", "--format", "text", str(tmp_path / "a")]) == 0
    assert capfdbinary.readouterr().out == b"\xff\xfe first\n"
    assert app.invoke(["sort", "-q", "--backend", "cpu", str(tmp_path / "a")]) == 0  # as GNU sort
    assert capfdbinary.readouterr().out == b"\xff\xfe first\n"
