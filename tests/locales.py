"""The locales that tests compare in, which localedef makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import needs

NAMES = ("en_US.UTF-8", "de_DE.UTF-8", "sv_SE.UTF-8", "cs_CZ.UTF-8")
LATIN_1 = "de_DE.ISO-8859-1"
"""A locale whose charset is not UTF-8."""
_SOURCES = Path("/usr/share/i18n/locales")


def made(folder: Path) -> Path:
    """The folder, with the locales in it, maybe from before; skips the test where they cannot be made."""
    localedef = needs.program("localedef")
    if not _SOURCES.exists():
        pytest.skip("needs the sources of locales; install the system's package locales")
    if folder.exists():
        return folder
    part = folder.with_suffix(".part")
    part.mkdir()
    for name in (*NAMES, LATIN_1):
        language, _, charset = name.partition(".")
        # localedef ends with 1 if it only warns, as it does of sources that another version wrote.
        command = [localedef, "--no-archive", "-i", language, "-f", charset, str(part / name)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (part / name / "LC_COLLATE").exists(), done.stderr.decode()
    return part.rename(folder)
