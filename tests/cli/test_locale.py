"""--locale: text in the order of a locale, as GNU sort, comm and join have it there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.native.locales import open_locale
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.locale_names import OF_ENVIRONMENT, locale_named
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.against_locale import failures
from tests.locales import LATIN_1, NAMES
from tests.terminals import standard_error

pytestmark = pytest.mark.usefixtures("locales")
WORDS = ["zebra", "éclair", "apple", "Zebra", "chata", "cukr", "hrad", "ärta", "Apple", "zéro", "co-op", "coop", ""]


def gnu(words: list[str], *options: str, locale: str = "en_US.UTF-8") -> list[str]:
    """The words as GNU sort orders them."""
    text = "".join(f"{word}\n" for word in words)
    command, environment = ["sort", *options], {**os.environ, "LC_ALL": locale}
    done = subprocess.run(command, input=text, env=environment, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.split("\n")[:-1]


def written(path: Path, words: list[str]) -> str:
    path.write_text("".join(f"{word}\n" for word in words))
    return str(path)


def result(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> list[str]:
    capfdbinary.readouterr()
    assert invoke(words) == 0
    return capfdbinary.readouterr().out.decode().split("\n")[:-1]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("part", range(4))
def test_random_command_lines(part: int, seed: int) -> None:
    assert failures(seed, range(part * 75, part * 75 + 75)) == 0


@pytest.mark.thorough
def test_many_random_command_lines(seed: int) -> None:
    assert failures(seed, range(3_000)) == 0


@pytest.mark.parametrize("locale", NAMES)
def test_each_command(locale: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    ordered = gnu(WORDS, locale=locale)
    a, b = written(tmp_path / "a", ordered[::2]), written(tmp_path / "b", ordered[1::2])
    both, by = written(tmp_path / "both", ordered), ("--locale", locale, "-q")
    assert result(capfdbinary, "merge", *by, a, b) == ordered
    assert result(capfdbinary, "union", *by, a, both) == ordered
    assert result(capfdbinary, "intersect", *by, a, both) == ordered[::2]
    assert result(capfdbinary, "difference", *by, both, a) == ordered[1::2]
    assert result(capfdbinary, "symmetric", *by, both, a) == ordered[1::2]
    assert invoke(["check", *by, both]) == 0
    assert invoke(["check", "-q", both]) == 1
    capfdbinary.readouterr()
    assert result(capfdbinary, "rank", *by, "--at", "3", "--json", a, b)
    assert invoke(["rank", *by, "--of", ordered[4], "--json", a, b]) == 0
    assert json.loads(capfdbinary.readouterr().out)["of"][0]["lower"] == 4


def test_disorder_is_that_of_the_locale(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = written(tmp_path / "a", ["a", "B", "é", "d"])
    assert invoke(["merge", "--locale", "en_US.UTF-8", name]) == 2
    assert "a:4: " in (told := capfd.readouterr().err)
    assert told.endswith("sort it first, as LC_ALL=en_US.UTF-8 sort does\n")


def test_csv_by_a_column_and_the_last_resort_by_records(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    ordered = gnu([word for word in WORDS if word])
    rows = [f'"{word}",{number}' for number, word in enumerate(random.Random(1).sample(ordered, len(ordered)))]
    path = written(tmp_path / "a.csv", ["word,number", *rows])
    found = result(capfdbinary, "sort", "--locale", "en_US.UTF-8", "--csv", "--field", "word", "-q", path)
    assert [row.split('"')[1] for row in found[1:]] == ordered
    texts = ['"a ""b""",1', '"A",1', '"á, b",1', '"B\nb",1']  # a quote within makes the parser take records to pieces
    path = written(tmp_path / "b.csv", ["word,number", *texts])
    command = ["sort", "--locale", "en_US.UTF-8", "--csv", "-q", path]
    by_number = b"\n".join([b"word,number", *(text.encode() for text in texts)]) + b"\n"
    assert invoke([*command, "--field", "number", "-s"]) == 0
    assert capfdbinary.readouterr().out == by_number
    assert invoke([*command, "--field", "number"]) == 0
    expected = sorted(
        texts, key=lambda text: gnu([one.replace("\n", " ") for one in texts]).index(text.replace("\n", " "))
    )
    assert capfdbinary.readouterr().out.decode() == "word,number\n" + "".join(f"{text}\n" for text in expected)


@pytest.mark.parametrize("key", ["1", "1,9"])
def test_records_of_lines_compare_by_their_first_lines(
    key: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    firsts, others = gnu(["# a", "# ab", "# B", "# é", "# co-op"]), ["z", "b", "a"]
    path = written(tmp_path / "a", [f"{first}\n{other}" for other in others for first in firsts[::-1]])
    command = ["sort", "--locale", "en_US.UTF-8", "--record-start", "^#", "-k", key, "-s", "-q"]
    assert result(capfdbinary, *command, path) == [
        line for first in firsts for other in others for line in (first, other)
    ]
    halves = [written(tmp_path / name, [f"{first}\n{name}" for first in firsts]) for name in ("z", "a")]
    merged = [line for first in firsts for name in ("z", "a") for line in (first, name)]
    assert result(capfdbinary, "merge", *command[1:-2], "-q", *halves) == merged
    both = [line for first in firsts for line in (f"\t\t{first}", "z")]  # equal records are written as A has them
    assert result(capfdbinary, "compare", *command[1:-2], "-q", *halves) == both


def test_join_of_csv(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    ordered = gnu([word for word in WORDS if word])
    a = written(tmp_path / "a.csv", ["word,x", *(f"{word},1" for word in ordered)])
    b = written(tmp_path / "b.csv", ["word,y", *(f"{word},2" for word in ordered[::2])])
    found = result(capfdbinary, "join", "--locale", "en_US.UTF-8", "--field", "word", "-q", a, b)
    assert found == ["word,x,y", *(f"{word},1,2" for word in ordered[::2])]


def test_months_and_numbers_are_read_as_the_locale_writes_them(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for option, locale, words in [
        ("-M", "de_DE.UTF-8", ["Dez", "mär", "Mär", "Mai", "Jan", "okt"]),
        ("-M", "cs_CZ.UTF-8", ["led", "úno", "čec", "čen", "pro"]),
        ("-n", "de_DE.UTF-8", ["1,5", "1.000", "1,25", "999"]),
        ("-g", "de_DE.UTF-8", ["1,5", "1e3", "1,25", "999"]),
        ("-h", "en_US.UTF-8", ["1,500K", "2M", "1,000K", "1G"]),
    ]:
        path = written(tmp_path / "a", words)
        assert result(capfdbinary, "sort", option, "--locale", locale, path) == gnu(words, option, locale=locale)
    path = written(tmp_path / "a", ["1,5", "1.25"])
    assert result(capfdbinary, "sort", "-n", "--decimal", ".", "--locale", "de_DE.UTF-8", path) == ["1,5", "1.25"]


def test_names_of_locales(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a", ["b", "A"])
    assert invoke(["sort", "--locale", "xx_XX", path]) == 2
    expected = (
        "gpumerge: --locale xx_XX: this machine has no such locale; name one that locale -a lists, or install it\n"
    )
    assert capfd.readouterr() == ("", expected)
    assert invoke(["merge", "--locale", LATIN_1, path]) == 2
    assert "its texts are not UTF-8; name one whose charset is UTF-8" in capfd.readouterr().err
    assert invoke(["sort", "--locale", "", path]) == 2
    assert "--locale '': no locale has an empty name; name a locale, C or env" in capfd.readouterr().err
    for name in ("C", "POSIX"):
        assert invoke(["sort", "--locale", name, path]) == 0
        assert capfd.readouterr().out == "A\nb\n"


@pytest.mark.parametrize(
    ("variable", "options"), [("LC_ALL", []), ("LANG", ["-n"]), ("LC_NUMERIC", ["-s", "-k1,1n"]), ("LC_TIME", ["-M"])]
)
def test_an_unknown_locale_of_the_environment_is_named(
    variable: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("LC_ALL", "LC_COLLATE", "LANG", "LC_NUMERIC", "LC_TIME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "xx")
    assert invoke(["sort", *options, "--locale", "env", written(tmp_path / "a", ["b"])]) == 2
    what = f"--locale env: {variable}=xx: this machine has no such locale"
    assert capfd.readouterr().err == f"gpumerge: {what}; set {variable} to one that locale -a lists, or install it\n"


def test_the_environment_is_followed_as_the_c_library_does(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a", WORDS)
    for name in ("LC_ALL", "LC_COLLATE", "LANG", "LC_NUMERIC"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (
        ("LANG", "sv_SE.UTF-8"),
        ("LC_COLLATE", "cs_CZ.UTF-8"),
        ("LC_ALL", "en_US.UTF-8"),
        ("LC_ALL", "C"),
    ):
        monkeypatch.setenv(name, value)
        assert locale_named(OF_ENVIRONMENT) == ("" if value == "C" else value)
        assert result(capfdbinary, "sort", "--locale", "env", path) == gnu(WORDS, locale=value)
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert result(capfdbinary, "sort", path) == gnu(WORDS, locale="C")


def test_a_users_settings_may_give_it(
    place: Callable[..., None], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = written(tmp_path / "a", WORDS)
    place(user="locale = 'en_US.UTF-8'")
    assert result(capfdbinary, "sort", path) == gnu(WORDS)
    assert result(capfdbinary, "sort", "--locale", "C", path) == gnu(WORDS, locale="C")
    numbers = tmp_path / "a.i32"  # which have no locale
    numbers.write_bytes(bytes(range(8)))
    for command in ("merge", "sort"):
        assert invoke([command, str(numbers), "--output", str(tmp_path / "out.i32"), "-q"]) == 0
        assert (tmp_path / "out.i32").read_bytes() == bytes(range(8))


def test_sort_names_the_option_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a", ["b", "A"])
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    command = [sys.executable, "-m", "gpumerge_cli", "sort", path, "-o", "out"]
    code, shown = standard_error(command, tmp_path)
    assert code == 0
    assert b"lines compare by their bytes, as in the C locale; --locale env compares them as in de_DE.UTF-8" in shown


def test_debug_names_the_locale(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a", ["b", "A"])
    assert invoke(["sort", "--debug", "--locale", "de_DE.UTF-8", path]) == 0
    assert capfd.readouterr().err == "gpumerge: text ordering performed using 'de_DE.UTF-8' sorting rules\n"


def test_a_gpu_does_not_compare_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a", ["b", "A"])
    for command in ("merge", "sort"):
        assert invoke([command, "--backend", "gpu", "--locale", "en_US.UTF-8", path]) == 2
        told = "gpumerge: orders by a locale are made by the CPU alone; leave --backend gpu out\n"
        assert capfd.readouterr().err == told
    assert not Order.lines(LineOrder(locale="en_US.UTF-8")).gpu
    assert Order.lines(LineOrder((LineKey("numeric"),), stable=True, locale="en_US.UTF-8")).gpu


@pytest.mark.parametrize("locale", NAMES)
def test_long_and_nearly_equal_lines(
    locale: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], seed: int
) -> None:
    """Lines whose first differences lie where images end, also behind characters that are ignored and contractions."""
    chance = random.Random(seed)
    words = []
    for _ in range(300):
        start = chance.choice(["", "-" * 2000, "abcdefghijklmn", "漢" * 5, "é" * 15, "c" * 15, "\u0301" * 700])
        middle = "".join(chance.choices("chHCxé-漢", k=chance.randint(0, 4)))
        words.append(start + middle + chance.choice(["", "h", "z" * 1200]))
    path = written(tmp_path / "a", words)
    assert result(capfdbinary, "sort", "--locale", locale, path) == gnu(words, locale=locale)


def test_threads_open_one_locale_at_once() -> None:
    words = [word.encode() for word in gnu(WORDS, locale="cs_CZ.UTF-8")]

    def compared(_number: int) -> list[int]:
        open_locale("cs_CZ.UTF-8")
        compare = Comparison(Order.lines(LineOrder(locale="cs_CZ.UTF-8")))
        return [compare(a, b) for a, b in pairwise(words)]

    with ThreadPoolExecutor(8) as threads:
        assert all(one <= 0 for found in threads.map(compared, range(64)) for one in found)


@pytest.mark.parametrize("keys", [[], ["-k1,1"], ["-t", ",", "-k2"], ["--csv", "-k1,1"]], ids=" ".join)
def test_disorder_that_the_other_way_to_compare_ends(
    keys: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    lines = [f"{word},{word} x" for word in WORDS]
    files = [
        written(tmp_path / "a", sorted(lines, key=str.encode)),
        written(tmp_path / "b", gnu(lines, "-s", *(["-t,", *keys[1:]] if "--csv" in keys else keys))),
        written(tmp_path / "neither", lines),
    ]
    told = []
    for options, name in (
        (["--locale", "env"], files[0]), (["--locale", "sv_SE.UTF-8"], files[0]), ([], files[1]), ([], files[2]),
    ):  # fmt: skip
        assert invoke(["check", *options, *keys, name]) == 1
        told.append(capfd.readouterr().err)
    assert all(one.endswith("; the file is in the order of its bytes: leave --locale out\n") for one in told[:2])
    assert told[2].endswith("; the file is in the order of en_US.UTF-8: add --locale env\n")
    assert "--locale" not in told[3]
    assert invoke(["merge", *keys, *files[1:]]) == 2
    assert "--locale" not in capfd.readouterr().err


def test_both_files_of_a_join_must_have_the_order_that_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    words = [word for word in WORDS if word]
    by_locale = written(tmp_path / "a", gnu([f"{word} a" for word in words], "-k1,1"))
    others = gnu([f"b {word}" for word in words], "-k2,2")
    for name, lines, proposed in (("b", others, True), ("c", sorted(others, key=str.encode), False)):
        assert invoke(["join", "-1", "1", "-2", "2", by_locale, written(tmp_path / name, lines)]) == 2
        assert ("in the order of en_US.UTF-8: add --locale env" in capfd.readouterr().err) == proposed


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_no_locale_is_proposed_where_texts_compare_by_bytes_alone(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    words, name = gnu([word for word in WORDS if word.isalpha()]), str(tmp_path / f"a{suffix}")
    if suffix == ".jsonl":
        written(Path(name), [json.dumps({"k": word}) for word in words])
    else:
        pq.write_table(pa.table({"k": words}), name)
    assert invoke(["check", "--field", "k", name]) == 1
    assert "--locale" not in capfd.readouterr().err


def test_a_locale_that_the_machine_lacks_is_not_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    assert invoke(["check", written(tmp_path / "a", gnu(WORDS))]) == 1
    assert "--locale" not in capfd.readouterr().err
