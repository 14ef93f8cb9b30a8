"""gpumerge path --html, from the command line to a file that is complete in itself, whatever names contain."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from tests.report.test_html import HOSTILE


class Parsed(HTMLParser):
    """A page's elements, with the text of its style and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in ("script", "style"):
            self.raw[-1] += data


def made(tmp_path: Path, *words: str) -> str:
    out = tmp_path / "page.html"
    assert invoke(["path", *words, "--html", str(out)]) == 0
    return out.read_text(encoding="utf-8")


def data_of(text: str) -> Any:
    return json.loads(Parsed(text).raw[1])


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    assert invoke(["path", *words]) == 2
    out, error = capfd.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    return error


def test_without_inputs_it_shows_the_textbooks(tmp_path: Path) -> None:
    data = data_of(made(tmp_path))
    assert data["labels"] == [["0", "1", "4", "5", "5", "7", "8", "9"], ["1", "1", "3", "6", "6", "7", "9"]]
    assert (data["rank"], data["size"], data["compared"]) == (7, 4, None)


def test_a_file_of_its_own(tmp_path: Path) -> None:
    text = made(tmp_path, "--rank", "3")
    assert data_of(text)["rank"] == 3
    parsed = Parsed(text)
    style, data, script = parsed.raw
    policy = next(attrs["content"] or "" for tag, attrs in parsed.tags if attrs.get("http-equiv"))
    for text_of_it in (style, script):
        assert f"'sha256-{b64encode(sha256(text_of_it.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"[<>&]", data)
    for tag, attrs in parsed.tags:
        assert not {"src", "href", "style", "action"} & set(attrs), tag
        assert not any(name.startswith("on") for name in attrs), tag
    assert set(re.findall(r"https?://[^\"' ]*", text)) <= {"http://www.w3.org/2000/svg"}
    assert "@" not in re.sub(r"@media", "", style)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str, tmp_path: Path) -> None:
    file = tmp_path / name.replace("/", "\u2215")
    try:
        file.write_bytes(b"</script>\n<img src=x onerror=alert(1)>\n\xff\n")
    except OSError:
        pytest.skip("this file system has no such names")
    text = made(tmp_path, "--format", "text", str(file), str(file))
    allowed = {tag for tag, _ in Parsed(made(tmp_path)).tags}
    assert {tag for tag, _ in Parsed(text).tags} <= allowed
    assert len([tag for tag, _ in Parsed(text).tags if tag == "script"]) == 2
    assert data_of(text)["labels"][0][0] == "</script>"


def test_a_kernel_and_its_sizes_come_first(tmp_path: Path) -> None:
    words = ["--items", "1 3 5", "--items", "2 4", "--kernel", "circular"]
    assert data_of(made(tmp_path, *words))["launches"][0]["kernel"] == "circular"
    first = data_of(made(tmp_path, *words, "--tile-size", "2", "--block-size", "3", "--blocks", "1"))["launches"][0]
    assert [first[name] for name in ("threads", "tile", "blocks")] == [3, 2, 1]
    assert set(first["bugs"]) == {"refill", "count", "ties"}


def test_what_it_refuses(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, out = tmp_path / "a.html", tmp_path / "page.html"
    a.write_text("1\n2\n")
    unsorted = tmp_path / "unsorted.txt"
    unsorted.write_text("2\n1\n")
    page = ["--html", str(out)]
    assert "would replace an input" in refused(capfd, str(a), str(a), "--html", str(a))
    assert "end the name in one of .html" in refused(capfd, str(a), str(a), "--html", "page.txt")
    assert "is a directory" in refused(capfd, str(a), str(a), "--html", str(_folder(tmp_path)))
    assert "shows the path and the rounds" in refused(capfd, str(a), str(a), *page, "--rounds")
    assert "add --html page.html" in refused(capfd, str(a), str(a), "--compare")
    assert "a merge path has two inputs" in refused(capfd, str(a), *page)
    assert "the merge has ranks 0 to 4" in refused(capfd, "--items", "1 2", "--items", "1 2", *page, "--rank", "5")
    assert "disorder" in refused(capfd, str(unsorted), str(unsorted), *page)
    assert "empty" in refused(capfd, "--items", "", "--items", "", *page, "--compare")
    assert not out.exists()
    assert a.read_text() == "1\n2\n"


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder.html"
    folder.mkdir()
    return folder
