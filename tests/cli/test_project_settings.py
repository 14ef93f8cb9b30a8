"""The file of a project, which may come with a folder that somebody else made."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.options.commands import COMMANDS, options_of
from gpumerge_cli.cli.settings import Settings
from gpumerge_cli.errors import UsageError
from gpumerge_cli.trust import warn_once
from tests.settings import used

OF_PROJECTS = """
    algorithm backend batch-size block-size blocks columns csv debug decimal device device-memory dictionary-order
    dtype empty fan-in field field-separator format general-numeric-sort human-numeric-sort ignore ignore-case
    ignore-leading-blanks ignore-nonprinting invalid items-per-thread json kernel key key-1 key-2 key-offset key-size
    last-resort line-ends memory month-sort multi null-values nulls numeric-sort output-delimiter progress quiet quotes
    random-sort random-source rank record-size reverse rounds sort sort-inputs stable temporary-directory thousands
    threads tile-load tile-size time-format total traceback transfer verbose version-sort without-both without-first
    without-second year
    zero-terminated zone
"""
NOT_OF_PROJECTS = """
    check cluster cluster-wait compare compress-program config count direction distinct dry-run dtypes figures
    files0-from fsync header header-prefix headers items joblog jobs keep-going kernels locale measure only
    only-unpaired order-list output plan quick record-start render repeat report resume resume-failed runs schema seed
    shape shapes sizes sorted time tolerance type unique unpaired
"""


def test_what_a_project_may_set_is_listed() -> None:
    """A new option is put into one of the lists only after a look at what a foreign folder could do with it."""
    settable = [option for command in COMMANDS for option in command.options if option.settable]
    assert sorted({option.name for option in settable if option.project}) == OF_PROJECTS.split()
    assert sorted({option.name for option in settable if not option.project}) == NOT_OF_PROJECTS.split()


def test_a_project_names_no_program_no_file_to_write_and_no_address() -> None:
    for option in (option for command in COMMANDS for option in command.options if option.project):
        assert not option.written
        assert option.kind != "program"
        assert option.placeholder not in ("URL", "ADDRESS|FILE|local[:N]")


@pytest.mark.parametrize(
    ("command", "name"),
    sorted({(c.name, o.name) for c in COMMANDS for o in c.options if o.settable and not o.project}),
)
def test_a_project_cannot_set_the_others(place: Callable[..., None], command: str, name: str) -> None:
    option = next(option for option in options_of(command) if option.name == name)
    value = "true" if option.kind == "flag" else "1" if option.kind == "number" else "'1'"
    place(f"[{command}]\n{name} = {value}")
    with pytest.raises(UsageError, match="a project's file may not set") as refused:
        Settings().find(command, option)
    assert refused.value.where.endswith("gpumerge.toml:2")
    Path("../gpumerge.toml").unlink()
    place(user=f"[{command}]\n{name} = {value}")
    found = Settings().find(command, option)
    assert found is not None
    assert found[1].layer == "user"


@pytest.mark.parametrize("name", ["-", "gone", "pipe", "/dev/stdin"])
def test_a_project_names_files_that_end(place: Callable[..., None], name: str) -> None:
    os.mkfifo("../pipe")
    place(f"[merge]\nrandom-source = '{name}'")
    option = next(option for option in options_of("merge") if option.name == "random-source")
    with pytest.raises(UsageError, match=r"does not exist|is not a regular file|is outside") as refused:
        Settings().find("merge", option)
    assert refused.value.where.endswith("gpumerge.toml:2")
    Path("../source").write_bytes(bytes(16))
    place("[merge]\nrandom-source = 'source'")
    found = Settings().find("merge", option)
    assert found is not None


def test_numbers_of_thousands_of_digits_are_told_in_own_words(
    place: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    digits = "9" * 5000
    place(f"# one\nthreads = {digits}\n# three")
    assert invoke(["merge", "a", "b"]) == 2
    error = capsys.readouterr().err
    assert error.endswith("""gpumerge.toml:2: a number in it has thousands of digits; \
write for example threads = 4 or memory = "2G"\n""")
    Path("../gpumerge.toml").unlink()
    jobs = tmp_path / "jobs"
    jobs.write_text(f'{{"inputs": ["a"], "output": "b", "threads": {digits}}}\n')
    for command in (["merge", "a", "b", "--head", digits], ["rank", "a", "--at", digits], ["batch", str(jobs)]):
        assert invoke(command) == 2
        error = capsys.readouterr().err
        assert "digits" in error
        assert "sys." not in error


def test_a_relative_place_of_the_users_file_is_that_of_no_folder(place: Callable[..., None]) -> None:
    """Otherwise a folder could bring a file that counts as the user's own."""
    Path("gpumerge").mkdir()
    Path("gpumerge/config.toml").write_text("threads = 7\n")
    for relative in (".", "gpumerge/..", "./"):
        place(XDG_CONFIG_HOME=relative, HOME="/nowhere")
        assert used("merge", "threads") == (None, "")


def test_a_project_file_that_others_may_have_written_is_not_read(
    place: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place("threads = 3")
    file, folder, below = (tmp_path / name for name in ("project/gpumerge.toml", "project", "project/deep"))
    for path in (file, folder, below):
        before = path.stat().st_mode
        for mode in (before | 0o002, before | 0o022):
            path.chmod(mode)
            warn_once.cache_clear()
            assert used("merge", "threads") == (None, "")
            assert used("merge", "threads") == (None, "")
            told = capsys.readouterr().err
            assert told == f"gpumerge: {file} is not read: others may write to {path}; use chmod go-w\n"
        path.chmod(before)
    assert used("merge", "threads") == (3, "gpumerge.toml:1")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    if user:
        assert used("merge", "threads") == (None, "")
        assert f"{file} is not read: {file} belongs to somebody else" in capsys.readouterr().err
    else:  # what root set up is everybody's
        assert used("merge", "threads") == (3, "gpumerge.toml:1")
        os.chown(file, user + 2, -1)
        assert used("merge", "threads") == (None, "")
        assert f"{file} is not read: {file} belongs to somebody else" in capsys.readouterr().err


def test_a_group_of_ones_own_is_nobody_else(place: Callable[..., None], tmp_path: Path) -> None:
    place("threads = 3")
    file = tmp_path / "project" / "gpumerge.toml"
    file.chmod(0o664)
    own = file.stat().st_gid == file.stat().st_uid
    assert used("merge", "threads") == ((3, "gpumerge.toml:1") if own else (None, ""))
