"""Jobs of tests, made in few words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gpumerge_cli.dataclass import field_names, replace
from gpumerge_cli.engine.job import Destination, Job, Operation, OperationKind, Resources
from gpumerge_cli.formats.items import Items
from gpumerge_cli.launch import SortRequest

_ITEMS, _RESOURCES = Items(), Resources()


def job_of(
    kind: OperationKind,
    inputs: Sequence[str],
    output: str = "-",
    items: Items = _ITEMS,
    resources: Resources = _RESOURCES,
    **options: Any,
) -> Job:
    """A job. options: fields of its operation, its output and its resources, each by its own name."""
    operation = Operation("sort", launch=SortRequest()) if kind == "sort" else Operation(kind)
    parts: list[Any] = [operation, Destination(output), resources]
    for place, part in enumerate(parts):
        given = {name: options.pop(name) for name in field_names(type(part)) if name in options}
        parts[place] = replace(part, **given)
    assert not options, options
    return Job(tuple(inputs), items, *parts)


merge_job = partial(job_of, "merge")
sort_job = partial(job_of, "sort")


def to(job: Job, output: str) -> Job:
    """The job with another output."""
    return replace(job, output=replace(job.output, name=output))


def with_resources(job: Job, **resources: Any) -> Job:
    """The job with other resources. resources: the fields that change."""
    return replace(job, resources=replace(job.resources, **resources))
