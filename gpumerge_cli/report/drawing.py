"""Matplotlib, loaded without the settings of the current folder; only this module imports it.

Matplotlib reads a file `matplotlibrc` of the current folder ahead of all others. One that came with somebody's data
could have it start a program, as LaTeX.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = ("MATPLOTLIBRC", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
"""Variables of the user that name files and folders of Matplotlib, from the current folder if they are relative."""


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Make / the current folder for the body: it holds no Python module, and only root writes there."""
    kept = {name: os.environ[name] for name in _NAMES if os.environ.get(name)}
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # the folder may have no name any more
    try:
        os.environ.update({name: os.path.join(os.getcwd(), path) for name, path in kept.items() if path[0] != "/"})
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)
        os.environ.update(kept)


with _elsewhere():
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyBboxPatch, Patch, Polygon

__all__ = ["FancyBboxPatch", "Figure", "Line2D", "Patch", "Polygon", "rc_context"]
