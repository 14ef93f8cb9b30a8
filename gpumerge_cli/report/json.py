"""Reports as JSON: the model's fields as they are, with seconds and bytes as plain numbers."""

from __future__ import annotations

import json
from dataclasses import asdict

from gpumerge_cli.report.model import CompareReport, MergeReport


def render(report: MergeReport | CompareReport) -> str:
    """The report as an indented JSON object."""
    return json.dumps(asdict(report), indent=2) + "\n"
