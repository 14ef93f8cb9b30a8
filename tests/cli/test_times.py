"""--time, --time-format, --zone and --year in every command, and what is shown of the times that were read."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.order.times import LETTERS

MANUAL = Path(__file__).parents[2] / "data" / "manual" / "times.md"
WEB = (
    '10.0.0.7 - - [30/Nov/2023:23:59:58 +0000] "GET /a HTTP/1.1" 200 17\n',
    '10.0.0.7 - bob [01/Dec/2023:01:00:02 +0100] "GET /c HTTP/1.1" 200 4\n',
)
APP = ("2023-12-01T00:00:00.25Z INFO start\n", "2023-12-01T00:00:03.5Z INFO end\n")
PYTHON = ("2023-12-01 00:00:00,123 - root - hello\n", "2023-12-01 00:00:04,5 - root - bye\n")
SYSLOG = ("Nov 30 23:59:59 host sshd[1]: a\n", "Dec  1 00:00:03 host sshd[1]: b\n")
MERGED = (WEB[0], SYSLOG[0], PYTHON[0], APP[0], WEB[1], SYSLOG[1], APP[1], PYTHON[1])
DECEMBER = "2023-12-01T00:10:00+00:00"

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of four forms in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, lines in {"web": WEB, "app": APP, "python": PYTHON, "syslog": SYSLOG}.items():
        write(name, *lines, changed=DECEMBER)


def write(name: str, *lines: str, changed: str = "") -> str:
    Path(name).write_text("".join(lines))
    if changed:
        second = datetime.fromisoformat(changed).timestamp()
        os.utime(name, (second, second))
    return name


@pytest.fixture
def told(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that exits with `code`, and gives its output, or its messages if it fails or `messages`."""

    def run(*arguments: str, code: int = 0, messages: bool = False) -> str:
        capfd.readouterr()
        assert invoke(list(arguments)) == code
        found = capfd.readouterr()
        return found.err if code or messages else found.out

    return run


FILES = ("web", "app", "python", "syslog")
LOGS = "".join(MERGED)


@pytest.mark.parametrize(
    "command", ["merge -q", "merge -q --sort log-time", "union -q", "sort", "sort -m", "merge -q -k1:log-time -t \\0"]
)
def test_logs_of_different_forms_become_one(command: str, told: Run) -> None:
    timed = [] if "log-time" in command else ["--time"]
    assert told(*command.split(), *timed, *FILES) == LOGS


def test_every_command_that_orders_lines_has_the_options(told: Run) -> None:
    all_of_it = write("all", LOGS, changed=DECEMBER)
    assert told("check", "--time", *FILES, all_of_it) == ""
    assert told("intersect", "-q", "--time", all_of_it, "web") == "".join(WEB)
    assert told("difference", "-q", "--time", all_of_it, "web", "syslog", "python") == "".join(APP)
    assert told("symmetric", "-q", "--time", "web", "web") == ""
    assert told("compare", "-q", "-12", "--time", all_of_it, "web") == "".join(WEB)
    assert json.loads(told("rank", "--time", "--json", "--quantile", "0", *FILES))["ranks"][0]["item"] == WEB[0][:-1]
    assert "2 items, lines, by --time" in told("path", "--time", "web", "app")
    assert told("check", "--time", "-r", "web", code=1).endswith(
        ", 2023-12-01T00:00:02Z after 2023-11-30T23:59:58Z by --time -r; sort it first\n"
    )


def test_a_sort_puts_times_in_order(told: Run) -> None:
    write("mixed", *reversed(MERGED), changed=DECEMBER)
    assert told("sort", "--time", "mixed") == LOGS
    assert told("sort", "--time", "-r", "mixed") == "".join(reversed(MERGED))


def test_lines_with_equal_times_keep_their_order(told: Run) -> None:
    lines = ["2024-01-01 10:00:00Z z\n", "2024-01-01T11:00:00+01:00 a\n", "1704103200 m\n"]
    write("equal", *lines)
    assert told("sort", "--time", "equal") == "".join(lines)
    assert told("sort", "--sort=log-time", "equal") == "".join(sorted(lines))
    assert told("sort", "--time", "-u", "equal") == lines[0]
    error = told("sort", "--time", "--last-resort", "equal", code=2)
    assert "--time leaves lines with equal times in their order, and --last-resort does not" in error


def test_joins_by_time_compare_instants(told: Run) -> None:
    write("left", "at,who\n2024-01-01T10:00:00Z,ann\n2024-01-01T11:00:00Z,bob\n")
    write("right", "at,what\n2024-01-01 11:00:00+01:00,tea\n01/Jan/2024:11:00:00 +0000,rice\n")
    assert told("join", "-q", "--field", "at:time", "left", "right") == (
        "at,who,what\n2024-01-01T10:00:00Z,ann,tea\n2024-01-01T11:00:00Z,bob,rice\n"
    )
    write("day", "31/12/2024,a\n")
    write("summer", "31/12/2024,b\n")
    assert told("join", "-q", "-t,", "-j", "1:time", "--time-format", "%d/%m/%Y", "day", "summer") == "31/12/2024,a,b\n"


def test_each_side_of_a_join_has_its_own_field(told: Run) -> None:
    write("left", "a,31/12/2024\n")
    write("right", "31/12/2024,b\n")
    by = ["-t,", "-1", "2:time", "-2", "1:time", "--time-format", "%d/%m/%Y", "--invalid", "last"]
    assert told("join", "-q", *by, "left", "right", "--report", "r.json", "--output", "out") == ""
    assert Path("out").read_text() == "31/12/2024,a,b\n"
    shown = "'31/12/2024' is 2024-12-31T00:00:00Z"
    assert [file["first_time"] for file in json.loads(Path("r.json").read_text())["inputs"]] == [shown] * 2


def test_a_joined_file_with_years_gives_none(told: Run) -> None:
    write("left", "Dec 31 23:59:58,a\n", changed="2024-01-01T00:00:00+00:00")
    write("right", "b,2023-12-31T23:59:58Z\n", changed="2026-01-01T00:00:00+00:00")
    assert told("join", "-q", "-t,", "-1", "1:time", "-2", "2:time", "left", "right") == "Dec 31 23:59:58,a,b\n"
    assert told("join", "-q", "-t,", "-1", "2:time", "-2", "1:time", "right", "left").endswith("Z,b,a\n")


def test_a_column_of_csv_has_a_form_of_its_own(told: Run) -> None:
    write("d.csv", "when,who\n", '"03/11/2024",a\n', "28/02/2025,b\n", '"15/01/2023",c\n')
    expected = 'when,who\n"15/01/2023",c\n"03/11/2024",a\n28/02/2025,b\n'
    by = ["--time-format", "%d/%m/%Y", "d.csv"]
    assert told("sort", "--field", "when:time", *by) == expected
    assert told("sort", "--csv", "--header", "1", "--time", *by) == expected
    header, *lines = expected.splitlines(keepends=True)
    assert told("sort", "--field", "when:time,r", *by) == "".join([header, *reversed(lines)])
    error = told("sort", "--field", "when:time", "d.csv", code=2)
    assert "d.csv:2: '03/11/2024' is not a time, by --field when:time; add --time-format" in error
    assert "if line 1 is a header, add --header 1" in told("sort", "--csv", "--time", *by, code=2)


def test_headers_ends_of_lines_and_compressed_files(told: Run) -> None:
    write("headed", "log of today\n", *APP)
    assert told("merge", "-q", "--time", "--header", "1", "headed") == "".join(["log of today\n", *APP])
    Path("windows").write_bytes(b"2024-01-01 10:00:00\r\n2024-01-01 09:00:00\r\n")
    sorted_lines = "2024-01-01 09:00:00\r\n2024-01-01 10:00:00\r\n"
    for way in (["--time"], ["--sort=time"], ["-k1,2:time"]):
        assert told("sort", *way, "windows") == sorted_lines
    Path("web.gz").write_bytes(gzip.compress("".join(WEB).encode()))
    Path("syslog.bz2").write_bytes(bz2.compress("".join(SYSLOG).encode()))
    second = os.stat("syslog").st_mtime
    os.utime("syslog.bz2", (second, second))
    assert told("merge", "-q", "--time", "web.gz", "app", "python", "syslog.bz2") == LOGS


def examples() -> dict[str, str]:
    """The examples of the manual's table of forms, and the instants that they are."""
    table = MANUAL.read_text().split("## Forms")[1].split("\n- ")[0]
    found = [text for text in re.findall(r"`([^`]+)`", table) if re.search(r"\d", text)]
    return {text: "2025-01-01T00:00:00Z" if text.startswith("Jan") else instant(text) for text in found}


def instant(text: str) -> str:
    seconds = "59.25" if re.search(r"[.,]25|250{1,}$", text) else "59"
    if not re.search(r"23:?59|^\d{10}", text):
        return "2024-12-31T00:00:00Z"
    if text.endswith("23:59"):
        return "2024-12-31T23:59:00Z"
    return f"2024-12-31T{22 if '+01' in text else 23}:59:{seconds}Z"


@pytest.mark.parametrize("text", examples())
def test_the_forms_of_the_manual_are_read(text: str, told: Run) -> None:
    write("one", f"{text}\n", changed="2025-01-01T10:00:00+00:00")
    for by in ("--time", "--sort=time"):
        shown = told("check", "-v", by, "one", messages=True)
        assert shown.endswith(f", {text!r} is {examples()[text]}\n"), shown


def test_the_manual_names_all_letters() -> None:
    table = MANUAL.read_text().split("| letters |")[1]
    assert set(LETTERS) <= set(re.findall(r"%(.)", table))


def test_what_was_read_is_shown(told: Run) -> None:
    assert told("merge", "-q", "--time", "app", "syslog", "--report", "r.json", "-o", "out") == ""
    read = [file["first_time"] for file in json.loads(Path("r.json").read_text())["inputs"]]
    assert read == [
        "'2023-12-01T00:00:00.25Z' is 2023-12-01T00:00:00.25Z", "'Nov 30 23:59:59' is 2023-11-30T23:59:59Z",
    ]  # fmt: skip
    for command in ("merge", "sort"):
        shown = told(command, "-v", "--time", "app", "syslog", "-o", "out", messages=True)
        assert all(time in shown for time in read), shown
    for suffix in ("md", "html"):
        told("merge", "-q", "--time", "app", "syslog", "--report", f"r.{suffix}", "-o", "out")
        assert "first time" in Path(f"r.{suffix}").read_text()
        told("merge", "-q", "app", "--report", f"r.{suffix}", "-o", "out", "--no-check")
        assert "first time" not in Path(f"r.{suffix}").read_text()


def test_many_files_are_not_all_shown(told: Run) -> None:
    names = [write(f"app{number}", *APP) for number in range(18)]
    shown = told("merge", "-v", "--time", *names, write("empty"), "-o", "out", messages=True)
    assert shown.count(" is 2023-12-01") == 16
    assert "and 3 further inputs" in shown
    shown = told("merge", "-v", "--time", "empty", "app", "-o", "out", messages=True)
    assert "no time in its first lines" in shown


class TestYears:
    def test_a_later_date_is_no_year_of_a_pipe(self) -> None:
        words = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", "--time", "-"]
        ran = subprocess.run(words, input="Dec 31 22:00:00 host-2024-01-01 x\n", text=True, capture_output=True)
        assert (ran.returncode, "has no year" in ran.stderr) == (2, True)

    def test_a_day_that_the_year_lacks_is_no_time(self, told: Run) -> None:
        write("leap", "Feb 29 10:00:00 a\n", changed="2025-01-01T00:00:00+00:00")
        assert "is 2024-02-29T10:00:00Z" in told("check", "-v", "--time", "leap", messages=True)
        error = told("check", "--time", "--year", "2023", "leap", code=2)
        assert "leap:1: 'Feb 29 10:00:00 a' has no time in it, by --time;" in error

    def test_december_goes_ahead_of_january(self, told: Run) -> None:
        first = write("s1", "Dec 31 23:59:58 a\n", "Jan  1 00:00:01 b\n", changed="2024-01-02T00:00:00+00:00")
        second = write("s2", "Dec 31 23:59:59 c\n", "Jan  1 00:00:00 d\n", changed="2024-01-01T00:00:00+00:00")
        expected = "Dec 31 23:59:58 a\nDec 31 23:59:59 c\nJan  1 00:00:00 d\nJan  1 00:00:01 b\n"
        assert told("merge", "-q", "--time", first, second) == expected
        assert told("sort", "--time", first, second) == expected
        Path("names").write_text("s1\0s2\0")
        assert told("merge", "-q", "--time", "--files0-from", "names") == expected
        assert "s1:2: disorder" in told("merge", "-q", "--time", "--year", "2023", first, second, code=2)

    def test_files_with_years_give_none(self, told: Run) -> None:
        """A file whose times have years may be much newer than the others."""
        write("app", *APP, changed="2026-07-01T00:00:00+00:00")
        assert told("merge", "-q", "--time", *FILES) == LOGS

    def test_a_date_further_on_gives_no_year(self, told: Run) -> None:
        write("s1", "Dec 31 23:59:58 host-2020-01-01 a\n", changed="2024-01-02T00:00:00+00:00")
        write("app", *APP, changed="2026-07-01T00:00:00+00:00")
        assert "is 2023-12-31T23:59:58Z" in told("merge", "-v", "--time", "s1", "app", "-o", "out", messages=True)

    def test_files_of_several_years_are_refused(self, told: Run) -> None:
        write("old", "Dec 31 23:59:59 c\n", changed="2023-01-01T00:00:00+00:00")
        write("new", "Dec 31 23:59:59 c\n", changed="2024-01-01T00:00:00+00:00")
        for command in ("merge", "sort", "union", "compare", "path"):
            error = told(command, "--time", "old", "new", code=2)
            assert "old: 'Dec 31 23:59:59' has no year: it is 2022 by the time of this file, but 2023" in error
            assert error.endswith("merge files of one year, and give it by --year\n")
        assert told("merge", "-q", "--time", "--year", "2022", "old", "new") == "Dec 31 23:59:59 c\n" * 2

    def test_each_file_that_is_checked_has_its_own_year(self, told: Run) -> None:
        write("old", "Dec 31 23:59:59 c\n", changed="2023-01-01T00:00:00+00:00")
        write("new", "Dec 31 23:59:59 c\n", changed="2024-01-01T00:00:00+00:00")
        shown = told("check", "-v", "--time", "old", "new", messages=True)
        assert "is 2022-12-31T23:59:59Z" in shown
        assert "is 2023-12-31T23:59:59Z" in shown

    @pytest.mark.parametrize("command", ["merge -q", "sort"])
    def test_a_pipe_needs_the_year(self, command: str) -> None:
        def piped(*more: str, code: int = 0) -> str:
            words = [sys.executable, "-m", "gpumerge_cli", *command.split(), "--time", *more]
            ran = subprocess.run(words, input="".join(SYSLOG), text=True, capture_output=True)
            assert ran.returncode == code, ran.stderr
            return ran.stderr if code else ran.stdout

        Path("-").touch()  # standard input is no file of this name
        wanted = "-:1: 'Nov 30 23:59:59 host sshd[1]: a' has no year, by --time; give it by --year\n"
        assert wanted in piped("-", "app", code=2)
        assert piped("--year", "2023", "-", "app") == SYSLOG[0] + APP[0] + SYSLOG[1] + APP[1]


class TestZones:
    def test_times_without_an_offset_are_in_utc(self, told: Run) -> None:
        write("local", "2024-06-01 12:00:00 local\n")
        write("utc", "2024-06-01T11:00:00Z utc\n")
        assert told("merge", "-q", "--time", "local", "utc").startswith("2024-06-01T11")
        assert told("merge", "-q", "--time", "--zone", "Europe/Berlin", "local", "utc").startswith("2024-06-01 12")
        assert told("merge", "-q", "--time", "--zone", "", "local", "utc").startswith("2024-06-01T11")

    def test_an_hour_that_occurs_twice_is_its_first_one(self, told: Run) -> None:
        write("local", "2024-10-27 02:30:00 local\n")
        for utc, first in (("00:29", "utc"), ("00:31", "local"), ("01:31", "local")):
            write("utc", f"2024-10-27T{utc}:00Z utc\n")
            merged = told("merge", "-q", "--time", "--zone", "Europe/Berlin", "local", "utc")
            assert merged.split("\n")[0].endswith(first)

    def test_an_hour_that_is_left_out_goes_on_by_the_old_clock(self, told: Run) -> None:
        write("local", "2024-03-31 02:30:00\n")
        shown = told("check", "-v", "--time", "--zone", "Europe/Berlin", "local", messages=True)
        assert "is 2024-03-31T01:30:00Z" in shown


class TestSettings:
    def test_a_project_sets_zone_year_and_format(self, told: Run) -> None:
        write("local", "Jun  1 12:00:00\n")
        Path("gpumerge.toml").write_text('zone = "Europe/Berlin"\nyear = 2001\n')
        assert "is 2001-06-01T10:00:00Z" in told("check", "-v", "--time", "local", messages=True)
        assert told("merge", "-q", "--no-check", "web") == "".join(WEB)  # no key is a time
        Path("gpumerge.toml").write_text('time-format = "%d/%m/%Y"\n')
        write("days", "31/12/2024\n")
        assert "is 2024-12-31T00:00:00Z" in told("check", "-v", "--time", "days", messages=True)

    def test_the_environment_sets_them(self, told: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GPUMERGE_TIME", "1")
        monkeypatch.setenv("GPUMERGE_ZONE", "Asia/Tokyo")
        monkeypatch.setenv("GPUMERGE_YEAR", "2001")
        write("local", "Jun  1 12:00:00\n")
        assert "is 2001-06-01T03:00:00Z" in told("check", "-v", "local", messages=True)

    def test_jobs_of_a_batch(self, told: Run) -> None:
        Path("below").mkdir()
        for name in FILES:
            os.rename(name, f"below/{name}")
        Path("below/jobs.toml").write_text(
            '[[job]]\noperation = "merge"\ninputs = ["web", "app", "python", "syslog"]\noutput = "merged"\n'
            'time = true\n[[job]]\noperation = "sort"\ninputs = ["syslog"]\noutput = "sorted"\ntime = true\n'
            'zone = "Europe/Berlin"\nyear = 2000\n[[job]]\noperation = "check"\ninputs = ["web"]\ntime = true\n'
        )
        told("batch", "-q", "below/jobs.toml")
        assert Path("below/merged").read_text() == LOGS
        assert Path("below/sorted").read_text() == "".join(SYSLOG)


BAD: Mapping[str, str] = {
    "merge --time --zone Europe/Berln app": "--zone Europe/Berln: there is no such zone; did you mean Europe/Berlin?",
    "merge --time --zone ../etc/passwd app": "--zone ../etc/passwd: there is no such zone; name one as",
    "merge --time --zone /etc/localtime app": "--zone /etc/localtime: there is no such zone;",
    "merge --time --zone berlin app": "--zone berlin: there is no such zone; did you mean Europe/Berlin?",
    "merge --time --zone +02:00 app": "--zone +02:00: there is no such zone; name one as Europe/Berlin",
    "merge --zone Europe/Berlin app": "--zone: no key is a time; add --time, or :time or :log-time to a key",
    "sort --zone Europe/Berlin -n app": "--zone: no key is a time; add --time,",
    "join --year 2024 app web": "--year: no key is a time; add --time, or :time or :log-time to a key",
    "merge --time-format %Y app": "--time-format: no key is a time;",
    "merge --time -k1 app": "--time and -k both say what is compared; leave -k out, or leave --time out",
    "merge --time --field a app": "--time and --field both say what is compared;",
    "sort --time -k1 app": "--time and -k both say what is compared;",
    "sort --time --sort=time app": "--time and --sort both say what is compared;",
    "merge --time -n app": "--time and -n both say what is compared;",
    "sort --order-list app app": "--order-list: no key is a list; add :list to a key",
    "merge --time --year 0 app": "--year: invalid number '0'; write 1 or more",
    "merge --time --year 10000 app": "--year 10000: years end with 9999; name a year as 2024",
    "merge --time --year 99999999999999999999 app": "--year: years end with 9999; name a year as 2024",
    "sort --time --year 10000 app": "--year 10000: years end with 9999;",
    "merge --time --year now app": "--year: invalid number 'now'",
    "merge --time --time-format %Q app": "--time-format %Q: %Q reads no part of a time; use letters from",
    "merge --time --time-format % app": "--time-format %: % reads no part of a time;",
    "merge --time --time-format %H:%M app": "--time-format %H:%M: it has no date; write one as %d/%m/%Y",
    "merge --time --time-format noon app": "--time-format noon: it has no date;",
    "merge --time --time-format %j app": "--time-format %j: %j needs a year; add %Y",
    "merge --time --time-format %d/%m/%Y app": f"app:1: {APP[0][:-1]!r} has no time in it, by --time; if line 1",
    "merge --time --time-format %d/%m/%Y --invalid last app": (
        "app: its first 2 lines have no time in the format '%d/%m/%Y'; give another --time-format, or none"
    ),
    "sort --time --time-format %d/%m/%Y --invalid first app": "app: its first 2 lines have no time in the format",
    "merge --time a.i32": "a.i32 is binary:",
    "merge --time odd": "odd:2: '    at main.py' has no time in it, by --time; if it goes on from the line above, add ",
    "merge --time none app": "none: no such file or directory; check the name",
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input_gets_one_line_with_the_way_out(command: str, told: Run) -> None:
    write("odd", APP[0], "    at main.py\n", APP[1])
    write("a.i32", "1234")
    error = told(*command.split(), code=2)
    assert error.startswith(f"gpumerge: {BAD[command]}"), error
    assert error.count("\n") == 1


def test_lines_without_a_time_have_their_place(told: Run) -> None:
    write("odd", APP[0], "    at main.py\n", APP[1])
    assert told("sort", "--time", "--invalid", "last", "odd") == "".join([*APP, "    at main.py\n"])
    write("gaps", "\n", APP[1], "\n", APP[0])
    assert told("sort", "--time", "gaps") == "".join([*APP, "\n\n"])
    assert told("sort", "--time", "--nulls", "first", "gaps") == "".join(["\n\n", *APP])
    assert told("sort", "--time", "--invalid", "first", "odd") == "".join(["    at main.py\n", *APP])


def test_a_zone_whose_name_is_unknown_because_there_are_none(told: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import zoneinfo

    monkeypatch.setattr(zoneinfo, "available_timezones", lambda: set())
    assert "install Python's package tzdata first" in told("merge", "--time", "--zone", "No/Where", "app", code=2)


@pytest.mark.parametrize("command", ["merge", "check", "union"])
def test_logs_that_are_in_the_order_of_their_times_are_told_so(command: str, told: Run) -> None:
    hint = "the file is in the order of its times: add --time\n"
    code = 1 if command == "check" else 2
    lines = [f"[{time}:23:00:00 +0000] GET\n" for time in ("30/Nov/2023", "01/Dec/2023", "01/Jan/2024")]
    write("logs", *lines)
    for name in ("logs", "syslog"):
        assert hint in told(command, name, code=code)
    write("odd", *lines, "01 no time\n")
    write("falling", *reversed(lines), *lines)
    assert hint not in told(command, "odd", code=code)
    assert hint not in told(command, "falling", code=code)
    if command == "merge":
        assert hint not in told(command, "logs", "odd", code=code)
        assert hint not in told(command, "-r", write("rising", "2024\n", "2025-01-01\n"), code=code)


def test_the_names_of_standard_input_and_files_are_not_mixed_up() -> None:
    from gpumerge_cli.formats.own_time import latest_second

    Path("-").touch()
    assert latest_second(["-"]) is None
    assert latest_second(["./-"]) is not None
    assert latest_second(["syslog"]) == datetime(2023, 12, 2, 0, 10, tzinfo=UTC).timestamp()
