"""Arrow's IPC streams."""

from __future__ import annotations

from collections.abc import Mapping

from gpumerge_cli.formats.format import register_format
from gpumerge_cli.formats.kinds.arrow_rows import Arrow


class ArrowStreamRows(Arrow):
    """See above. A file is read under this name, too."""

    name = "arrows"
    suffixes: Mapping[str, str] = {".arrows": ""}
    begins = rb"\xff{4}.{2}[\x00-\x0f]\x00[\x04-\x40]\x00{3}"
    is_stream = True


register_format(ArrowStreamRows())
