"""Variables of Google and Azure that are malformed: one line that names the variable, and never its value."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests import needs

pytest.importorskip("obstore", reason=needs.reason("obstore"), exc_type=ImportError)

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.stores import other_objects

SECRET = "hunter2"


def _key(**values: str) -> str:
    """A key of a service account, for a store at a port where nothing listens."""
    account = {"gcs_base_url": "https://127.0.0.1:9", "disable_oauth": True}
    return json.dumps(account | dict.fromkeys(("client_email", "private_key", "private_key_id"), "") | values)


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.setitem(other_objects._RETRIES, "max_retries", 0)
    for name in ("timeout", "connect_timeout"):
        monkeypatch.setitem(other_objects._TIMES, name, timedelta(seconds=1))


def _told(url: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """The one line of a merge that fails."""
    assert invoke(["merge", url, "-o", str(folder / "out.i32")]) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1, told
    assert told.startswith(f"gpumerge: {url}: ")
    assert SECRET not in told
    return told


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("GOOGLE_SERVICE_ACCOUNT_KEY", f"{{{SECRET}", True),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", SECRET, True),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(SECRET), True),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", "[" * 100_000, True),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps({"private_key": SECRET}), False),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps({"private_key": [SECRET], "private_key_id": SECRET}), False),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", _key(gcs_base_url=f"u:{SECRET}@host"), True),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", _key(gcs_base_url=f"http://u:{SECRET}@host:x9"), True),
        ("GOOGLE_SERVICE_ACCOUNT", f"/nowhere/{SECRET}", True),
        ("GOOGLE_SERVICE_ACCOUNT_PATH", f"/nowhere/{SECRET}", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", f"/nowhere/{SECRET}", True),
        ("GOOGLE_SKIP_SIGNATURE", SECRET, True),
        ("GOOGLE_BASE_URL", f"u:{SECRET}@host", True),
        ("GOOGLE_BASE_URL", f"http://u:{SECRET}@[::1", True),
        ("AZURE_STORAGE_ACCOUNT_NAME", "", True),
        ("AZURE_STORAGE_ACCOUNT_NAME", f"{SECRET}/..?@x", True),
        ("AZURE_STORAGE_ACCOUNT_KEY", f"{SECRET}!!", False),
        ("AZURE_STORAGE_SAS_TOKEN", f"sig={SECRET}\n", True),
        ("AZURE_STORAGE_TOKEN", f"a\n{SECRET}", True),
        ("AZURE_STORAGE_TOKEN", f"a\N{LATIN SMALL LETTER E WITH ACUTE}{SECRET}", True),
        ("AZURE_ENDPOINT", f"u:{SECRET}@host", True),
        ("AZURE_STORAGE_ENDPOINT", f"http://u:{SECRET}@host:x9", True),
        ("AZURE_STORAGE_ENDPOINT", "", True),
        ("AZURE_MSI_ENDPOINT", f"u:{SECRET}@host", True),
        ("AZURE_STORAGE_AUTHORITY_HOST", f"u:{SECRET}@host", True),
        ("AZURE_STORAGE_USE_EMULATOR", SECRET, True),
        ("AZURE_USE_FABRIC_ENDPOINT", SECRET, True),
    ],
)
def test_a_malformed_variable_is_one_line_without_its_value(
    name: str,
    value: str,
    named: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """named: whether the line can tell which variable it is."""
    is_google = name.startswith("GOOGLE_")
    if not is_google:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "aGVq")
    elif name in ("GOOGLE_SKIP_SIGNATURE", "GOOGLE_BASE_URL"):
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", _key())
    monkeypatch.setenv(name, value)
    told = _told("gs://bucket/key.i32" if is_google else "az://bucket/key.i32", tmp_path, capfd)
    assert (name in told) == named, told
    assert "panic" not in told


def test_a_file_of_credentials_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key.json").write_text(f'{{"type": "{SECRET}", "private_key": "{SECRET}"}}')
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"):
        with monkeypatch.context() as patch:
            patch.setenv(name, str(tmp_path / "key.json"))
            assert "Unable to decode service account file" in _told("gs://bucket/key.i32", tmp_path, capfd)


def test_variables_of_other_programs_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", _key())
    monkeypatch.setenv("GOOGLE_CREDENTIALS", "{\n}")
    monkeypatch.setenv("GOOGLE_MAPS_URL", "none")
    assert "error sending request" in _told("gs://bucket/key.i32", tmp_path, capfd)


def test_an_end_of_the_library_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class PanicException(BaseException):
        pass

    def end(*arguments: object) -> None:
        raise PanicException(f"called `Result::unwrap()` on {SECRET}")

    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", _key())
    monkeypatch.setenv("GOOGLE_BUCKET", SECRET)
    monkeypatch.setattr("obstore.head", end)
    assert "the store's library failed" in _told("gs://bucket/key.i32", tmp_path, capsys)
