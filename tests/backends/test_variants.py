"""The registry of kernel variants: complete, and the only place that lists them."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from gpumerge_cli.backends.cpu import policy as cpu_policy
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.source import flatten
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.backends.variants.lookup import LADDER, requested_variant, variant_named
from gpumerge_cli.backends.variants.variant import Variant
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.launch import LAUNCH_OPTIONS, KernelChoice, LaunchPolicy, LaunchRequest
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import launch_spec
from gpumerge_cli.order.kinds import Order
from tests.rungs import GPU_KERNELS, RUNGS

PACKAGE = Path(__file__).parents[2] / "gpumerge_cli"
# Reports draw known rungs in their own colours and order. They see no backend. Type checkers run no code.
LISTS = {
    *("report/series.py", "report/figure.py", "launch.py"),
    *("learn/puzzles.py", "explain/page.py", "explain/accesses.py"),
}
INT16, INT32 = Order.of("int16"), Order.of("int32")  # keys of 16 bits have vectors at every level


def test_one_variant_is_run_where_none_is_named() -> None:
    assert [variant.name for variant in LADDER if variant.auto] == [requested_variant(LaunchRequest()).name]
    assert [variant.name for variant in LADDER] == list(KERNELS)
    assert {option for variant in LADDER for option in variant.options} == set(LAUNCH_OPTIONS)
    assert get_args(KernelChoice) == ("auto", *KERNELS)


@pytest.mark.parametrize("variant", LADDER, ids=lambda variant: variant.name)
def test_a_variant_is_a_file_of_each_kind(variant: Variant) -> None:
    folder = PACKAGE.parent / "kernels"
    for load in variant.loads or (None,):
        request = LaunchRequest(variant.name, tile_load=load)
        policy = resolve(request, INT32, TUNED_ON)
        assert f" merge_{policy.rung.replace(' ', '_')}(" in flatten(f"merge_{policy.kernel}.cu")
        on_cpu = cpu_policy.resolve(request, INT16)
        assert on_cpu.kernel == variant.name
        assert on_cpu.rung in RUNGS
        assert on_cpu.rung.replace(" ", "_") in library().kernels
        assert policy.rung in (on_cpu.rung, "path")
    assert (folder / "gpu" / f"merge_{variant.name}.cu").exists() is (variant.name in GPU_KERNELS)
    twins = {"path": ("keys_path.hpp", "rows_merge.hpp"), "vector": ("keys_vector.hpp",)}
    for twin in twins.get(variant.name, (f"merge_{variant.name}.hpp",)):
        assert (folder / "cpu" / twin).exists()


def test_items_without_vectors_go_item_by_item() -> None:
    asked, auto = LaunchRequest("vector"), LaunchRequest()
    for order in (Order.lines(), Order.records(8, 0, 4)):
        policy = cpu_policy.resolve(asked, order)
        assert policy == cpu_policy.resolve(auto, order) == cpu_policy.resolve(LaunchRequest("path"), order)
        assert policy.why == f"asked for; this processor has no vector kernel for {order.describe()}, so path merges"
    assert cpu_policy.resolve(auto, INT16) == cpu_policy.resolve(asked, INT16)
    assert cpu_policy.resolve(asked, INT16).why == "asked for"


def test_each_kernel_belongs_to_a_variant() -> None:
    files = {file.name for file in (PACKAGE.parent / "kernels" / "gpu").glob("merge_*.cu")}
    of_path = {"merge_values.cu", "merge_columns.cu"}  # its ways with many narrow keys, and with values
    of_sorts = {"merge_by_rank.cu"}
    assert files == {f"merge_{name}.cu" for name in GPU_KERNELS} | of_path | of_sorts
    assert set(library().kernels) == {rung.replace(" ", "_") for rung in RUNGS}


def test_a_kernel_that_the_library_was_built_without_is_told() -> None:
    policy = LaunchPolicy("path", 1, 1)
    assert launch_spec(policy).kernel == library().kernels["path"]
    with pytest.raises(DeviceError, match="the CPU's library has no merge_quick_full; write it in kernels/cpu"):
        launch_spec(replace(policy, kernel="quick", tile_load="full"))


def test_levels_of_a_launch_end_in_what_threads_merge() -> None:
    for variant in LADDER:
        policy = resolve(LaunchRequest(variant.name), INT32, TUNED_ON)
        whats = [what for what, _ in variant.gpu.splits(policy, 1 << 20)]
        assert (whats[0], whats[-1]) == ("block", "thread")
        assert ("round" in whats) == (variant.rounds is not None)


def test_an_unknown_kernel_is_refused_with_all_that_there_are() -> None:
    with pytest.raises(UsageError, match=f"invalid kernel 'quick'; use auto, {', '.join(KERNELS)}"):
        variant_named("quick")


def test_no_other_module_lists_variants() -> None:
    lists = set()
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    named = {path: text for path, text in texts.items() if sum(name in text for name in {*KERNELS, *RUNGS}) > 1}
    for path, text in named.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
                parts = node.keys if isinstance(node, ast.Dict) else node.elts
                words = {part.value for part in parts if isinstance(part, ast.Constant)}
                if len(words & {*KERNELS, *RUNGS}) > 1:
                    lists.add(path.relative_to(PACKAGE).as_posix())
    assert lists <= LISTS
