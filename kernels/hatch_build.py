"""Has the CPU's libraries and the command built before hatchling packs or links the package."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
from build_library import GLIBC, LIBRARIES, ROOT, BuildError, build, build_launcher, machine

_PACKAGE = ROOT / "gpumerge_cli"
_MODULE = '''"""The package gpumerge_cli under the name of the distribution."""

import sys

import gpumerge_cli

sys.modules[__name__] = gpumerge_cli
'''
"""`import gpumerge` gives the package itself, so that all its names, and help, are the same."""


class LibraryHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling for every wheel, an editable one too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and say what belongs into the wheel and which machines it is for."""
        try:
            build()
            launcher = build_launcher()
        except BuildError as error:
            self.app.abort(f"gpumerge: {error}")
        # Through ctypes any Python will do. Another compiler takes the glibc of this system.
        system = "linux" if os.environ.get("CXX") else f"manylinux_{GLIBC.replace('.', '_')}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}_{machine()}"
        build_data["artifacts"].append(f"/{LIBRARIES.relative_to(ROOT)}/*.so")
        # It runs the script gpumerge-start, which pyproject.toml names.
        build_data["shared_scripts"][str(launcher)] = "gpumerge"
        made = ROOT / "build" / "gpumerge"
        made.mkdir(parents=True, exist_ok=True)
        (made / "__init__.py").write_text(_MODULE)
        for name in ("__init__.pyi", "py.typed"):
            shutil.copyfile(_PACKAGE / name, made / name)
        for included in ("force_include", "force_include_editable"):
            build_data[included][str(made)] = "gpumerge"
