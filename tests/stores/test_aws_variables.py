"""Variables of AWS that are malformed: one line that names the variable, and never its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import needs

pytest.importorskip("botocore", reason=needs.reason("botocore"), exc_type=ImportError)

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.stores import s3_client

SECRET = "hunter2"


def _told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """The one line of a merge that fails, by a client that knows the variables as they are now."""
    s3_client._made.cache_clear()
    try:
        assert invoke(["merge", "s3://bucket/key.i32", "-o", str(tmp_path / "out.i32")]) == 2
    finally:
        s3_client._made.cache_clear()
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    return told


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ENDPOINT_URL", f"user:{SECRET}@host:9000"),
        ("AWS_ENDPOINT_URL", "localhost:9000"),
        ("AWS_ENDPOINT_URL", f"http://u:{SECRET}@127.0.0.1:x9"),
        ("AWS_ENDPOINT_URL", f"http://u:{SECRET}@[::1"),
        ("AWS_ENDPOINT_URL", f"http://u:{SECRET}@127.0.0.1:99999"),
        ("AWS_ENDPOINT_URL", f"ftp://{SECRET}"),
        ("AWS_ENDPOINT_URL", "http://"),
        ("AWS_ENDPOINT_URL_S3", "  "),
        ("AWS_MAX_ATTEMPTS", SECRET),
        ("AWS_MAX_ATTEMPTS", ""),
        ("AWS_MAX_ATTEMPTS", "0"),
        ("AWS_MAX_ATTEMPTS", "-3"),
        ("AWS_MAX_ATTEMPTS", "1.5"),
        ("AWS_MAX_ATTEMPTS", "9" * 5000),
        ("AWS_ACCESS_KEY_ID", f"{SECRET}\n"),
        ("AWS_ACCESS_KEY_ID", f"{SECRET} 2"),
        ("AWS_SECRET_ACCESS_KEY", f"{SECRET}\r"),
        ("AWS_SECRET_ACCESS_KEY", f"{SECRET}\xe9"),
        ("AWS_SECRET_ACCESS_KEY", f"{SECRET}\udcff"),
        ("AWS_SESSION_TOKEN", f"{SECRET}\n{SECRET}"),
        ("AWS_SESSION_TOKEN", f"{SECRET}\u2028"),
        ("AWS_SECURITY_TOKEN", f"{SECRET}\x7f"),
        ("AWS_REGION", f"us-{SECRET}\n"),
        ("AWS_DEFAULT_REGION", f"us-{SECRET}\x1b[2J"),
        ("AWS_PROFILE", f"{SECRET}\n2"),
        ("AWS_DEFAULT_PROFILE", f"{SECRET}\r"),
        ("AWS_CA_BUNDLE", f"/{SECRET}\n"),
        ("AWS_REGION", f"{SECRET}/2"),
        ("AWS_PROFILE", SECRET),
        ("AWS_METADATA_SERVICE_TIMEOUT", SECRET),
        ("AWS_STS_REGIONAL_ENDPOINTS", SECRET),
        ("AWS_DEFAULTS_MODE", SECRET),
        ("AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES", SECRET),
        ("AWS_REQUEST_CHECKSUM_CALCULATION", SECRET),
    ],
)
def test_a_malformed_variable_is_one_line_without_its_value(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    given = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
    }
    for variable, text in (given | {name: value}).items():
        monkeypatch.setenv(variable, text)
    if name == "AWS_METADATA_SERVICE_TIMEOUT":  # which is read only where there are no credentials
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    told = _told(tmp_path, capfd)
    assert told.startswith("gpumerge: s3://bucket/key.i32: ")
    assert name in told
    assert SECRET not in told
    assert "ValueError" not in told
    assert "Traceback" not in told


def test_a_password_of_a_configuration_file_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").write_text(f"[default]\nregion = us-east-1\nendpoint_url = user:{SECRET}@host:9000\n")
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    told = _told(tmp_path, capfd)
    assert "a setting of AWS: the value is not valid" in told
    assert SECRET not in told


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("access", "secret", "token", "told"),
    [
        (f"{SECRET}\xe9", "b", "c", "the access key in a file of AWS has characters"),
        ("a", f"{SECRET} b", "c", "the secret key in a file of AWS has characters"),
        ("a", f"{SECRET}\n  b", "c", "the secret key in a file of AWS has characters"),
        ("a", "b", f"{SECRET}\u2028c", "the token in a file of AWS has characters"),
    ],
)
def test_a_malformed_key_of_a_credentials_file_is_one_line(
    access: str,
    secret: str,
    token: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    text = f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\naws_session_token = {token}\n"
    (tmp_path / "credentials").write_text(text, "utf-8")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    line = _told(tmp_path, capfd)
    assert told in line
    assert SECRET not in line
