"""Avro and JSON that is not on lines: one advice, with and without --field, that works for pipes, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

AVRO = b"Obj\x01\x04\x14" + bytes(60)
JSON = b'{"bar":10,"foo":14}\n{"foo":3,"bar":100}\n'
LINES = "read it by --format jsonl, without --csv, if each line is a value; else write such lines first"
COMMANDS = ["merge", "check", "union", "rank --at 0", "symmetric"]
DUCKDB = "convert it, for example with duckdb -c \"copy (from read_{0}('{1}')) to '{1}.csv'\""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.avro").write_bytes(AVRO)
    Path("t.json").write_bytes(JSON)
    Path("t.log").write_bytes(JSON)
    Path("t.dat").write_bytes(AVRO)


def told(words: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    assert invoke(words) == 2
    return capfd.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["t.avro", "t.json", "t.dat"])
def test_the_same_with_and_without_field(command: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = command.split()
    files = [name, name] if command == "symmetric" else [name]
    without = told([*words, *files], capfd) if name != "t.dat" else told([*words, "--csv", *files], capfd)
    assert told([*words, "--field", "foo", *files], capfd) == without
    assert told([*words, "--field", "2:n", *files], capfd) == without
    assert (LINES if name == "t.json" else DUCKDB.format("avro", name)) in without


def test_of_join(capfd: pytest.CaptureFixture[str]) -> None:
    avro = told(["join", "t.avro", "t.avro"], capfd)
    assert told(["join", "--field", "k", "t.avro", "t.avro"], capfd) == avro
    assert LINES in told(["join", "--field", "foo", "t.json", "t.json"], capfd)


def test_of_sort(capfd: pytest.CaptureFixture[str]) -> None:
    """It takes files for text whatever their suffixes are, so it goes by their first bytes."""
    assert told(["sort", "t.avro"], capfd) == told(["sort", "--field", "k", "t.avro"], capfd)
    assert invoke(["sort", "t.json"]) == 0
    capfd.readouterr()
    assert f"t.json: it holds JSON, not CSV; {LINES}" in told(["sort", "--field", "foo:n", "t.json"], capfd)


@pytest.mark.parametrize("command", ["sort", "merge"])
def test_json_of_another_suffix(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert LINES in told([command, "--field", "foo:n", "t.log"], capfd)
    assert invoke([command, "--format", "jsonl", "--field", "foo:r", "t.log"]) == 0, capfd.readouterr().err
    Path("t.log").write_bytes(b'"{""id"": 1}",v\n1,2\n')  # CSV with a name that is JSON
    assert invoke([command, "--field", "v", "t.log"]) == 0


@pytest.mark.parametrize("words", ["merge -", "merge --field k -", "sort", "sort --field k", "check /dev/stdin"])
def test_a_pipe_is_saved_first(words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", *words.split()], input=AVRO, capture_output=True, check=False
    )
    assert done.returncode == 2
    advice = f"save it to a file first, with cat > x.avro; then {DUCKDB.format('avro', 'x.avro')}"
    assert advice in done.stderr.decode()


@pytest.mark.parametrize("name", ["a$b.avro", "it's.avro", 'a"b.avro', "a`b\\c!.avro", "a'$b.avro"])
def test_names_of_files_are_quoted_for_the_shell_and_for_sql(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(name).write_bytes(AVRO)
    command = told(["merge", name], capfd).rstrip("\n").partition("for example with ")[2]
    printed = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    in_sql = name.replace("'", "''")
    assert printed == ["duckdb", "-c", f"copy (from read_avro('{in_sql}')) to '{in_sql}.csv'"]


def test_a_pipe_is_saved_to_no_file_that_is_there() -> None:
    Path("x.avro").write_bytes(b"mine")
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", "merge", "-"], input=AVRO, capture_output=True, check=False
    )
    assert f"with cat > x1.avro; then {DUCKDB.format('avro', 'x1.avro')}" in done.stderr.decode()


@pytest.mark.parametrize(
    "words", ["sort -k2,2", "sort -k id", "sort --field id", "merge --field id", "check -k1,1", "rank -k1,1 --at 0"]
)
@pytest.mark.parametrize("data", [b'{\n"id": 1,\n "name": "a"}\n', b' [\n"a" : 2,\n3]\n'])
def test_json_that_is_called_csv(words: str, data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_bytes(data)
    assert LINES in told([*words.split(), "--csv", "t.json"], capfd)


def test_json_that_is_called_csv_in_a_join(capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_bytes(b"id,name\n1,a\n")
    assert LINES in told(["join", "--csv", "t.csv", "t.log"], capfd)


def test_names_in_brackets_are_not_json(capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_bytes(b"[id],[name]\n1,a\n")
    assert "did you mean [id]? use one of [id], [name]" in told(["sort", "--field", "id", "t.csv"], capfd)


@pytest.mark.parametrize("words", ["merge", "check", "sort", "sort -m", "union", "rank --at 0"])
@pytest.mark.parametrize("key", ["-k id", "--field id"])
@pytest.mark.parametrize("files", [["t.csv", "t.json"], ["t.json", "t.csv"]])
def test_json_beside_csv(words: str, key: str, files: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_bytes(b"id,name\n1,a\n")
    error = told([*words.split(), "--csv", *key.split(), *files], capfd)
    assert LINES in error
    if words != "check":  # which looks at each file by itself
        as_lines = told([*words.split(), "--format", "text", "--header", "1", *files], capfd)
        assert ("JSON" in as_lines, f"{files[1]}:1: its header" in as_lines) == (False, True)


@pytest.mark.parametrize("command", ["merge", "check", "union", "rank --at 0"])
def test_a_format_that_is_proposed_works_with_field(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.md").write_bytes(b"foo,bar\n1,2\n")
    words = [*command.split(), "--field", "foo", "t.md"]
    assert "use --format text" in told(words, capfd)
    assert invoke([*words, "--format", "text"]) == 0


@pytest.mark.parametrize("command", ["merge", "check", "union", "sort", "join t.dat"])
def test_a_format_by_name_holds_for_the_header_too(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.dat").write_bytes(b"ORC\x02\x02,foo\n1,2\n")
    for key in ("foo", "ORC\x02\x02"):
        words = [*command.split(), "--field", key, "t.dat"]
        assert "it holds ORC data, not lines of text" in told([*words, "--csv"], capfd)
        assert invoke([*words, "--format", "csv"]) == 0, capfd.readouterr().err
