"""The code that a reader must walk through to follow a job: functions, files, classes, and changes of file.

    python data/bench/code_walked.py [CASE...]

Each case runs in a process of its own, whose calls are counted by sys.setprofile in all threads: the functions of the
package that are called at least once, the files and classes that these lie in, and how often a call goes from one file
of the package to another. Imports are not counted. Cases: see _CASES; without a name all of them run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import gpumerge_cli

PACKAGE = str(Path(gpumerge_cli.__file__).parent) + os.sep


class Walk:
    """Counts the calls of the package while it is on."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.changes = 0
        self._stacks = threading.local()

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        above: FrameType | None = frame
        caller = None
        while above is not None:
            if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(PACKAGE):
                return  # an import
            if caller is None and above is not frame and above.f_code.co_filename.startswith(PACKAGE):
                caller = above
            above = above.f_back
        self.codes.add(code)
        self.changes += caller is not None and caller.f_code.co_filename != code.co_filename

    def __enter__(self) -> Walk:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def counts(self) -> dict[str, int]:
        """The numbers, by their names."""
        named = [code for code in self.codes if not code.co_name.startswith("<")]
        files = {code.co_filename for code in named}
        classes = {
            (code.co_filename, code.co_qualname.rpartition(".")[0])
            for code in named
            if "." in code.co_qualname and "<locals>" not in code.co_qualname
        }
        return {"functions": len(named), "files": len(files), "classes": len(classes), "changes of file": self.changes}


def _command(*words: str) -> None:
    from gpumerge_cli.cli.app import invoke

    code = invoke([*words])
    assert code == 0, words


def _merge_of_integers(folder: Path) -> Callable[[], None]:
    import numpy as np

    for name in "ab":
        np.arange(1000, dtype=np.int32).tofile(folder / f"{name}.i32")
    return lambda: _command("merge", "-q", *(str(folder / f"{name}.i32") for name in "ab"), "-o", str(folder / "o.i32"))


def _sort_of_text(folder: Path) -> Callable[[], None]:
    (folder / "a.txt").write_text("".join(f"{number * 7919 % 1000}\n" for number in range(1000)))
    return lambda: _command("sort", str(folder / "a.txt"), "-o", str(folder / "o.txt"))


def _sort_of_csv(folder: Path) -> Callable[[], None]:
    rows = "".join(f"{number},{number * 7919 % 1000}\n" for number in range(1000))
    (folder / "a.csv").write_text(f"name,value\n{rows}")
    return lambda: _command("sort", "--csv", "--field", "value", "-n", str(folder / "a.csv"), "-o", str(folder / "o"))


def _task_of_a_cluster(folder: Path) -> Callable[[], None]:
    """The part of a merge that a cluster's worker does: it opens the inputs and the output, and does a task."""
    import pickle

    _merge_of_integers(folder)
    from gpumerge_cli.cluster import node
    from gpumerge_cli.cluster.pool import DaskPool

    shipped: list[Any] = []
    really = DaskPool.submit

    def kept(self: DaskPool, tickets: Sequence[Any]) -> None:
        shipped.extend((self._packed[False], [one.task]) for one in tickets)
        really(self, tickets)

    DaskPool.submit = kept  # type: ignore[method-assign]
    names = [str(folder / f"{name}.i32") for name in "ab"]
    _command("merge", "-q", "--cluster", "local:1", *names, "-o", str(folder / "o.i32"))
    packed, pieces = shipped[0]
    shipment = pickle.loads(packed.data)
    for spot in shipment.spots:  # the file that has taken its place since
        (folder / "again").write_bytes((folder / "o.i32").read_bytes())
        object.__setattr__(spot, "path", str(folder / "again"))
        object.__setattr__(spot, "identity", None)

    def work() -> None:
        (answer,) = node.do_all(shipment.packed(), pieces)
        assert answer.error is None, answer.error

    return work


def _union_of_arrays(folder: Path) -> Callable[[], None]:
    import numpy as np

    a, b = np.arange(5), np.arange(3, 8)
    return lambda: np.testing.assert_array_equal(gpumerge_cli.union(a, b), np.arange(8))


def _merge_of_arrays(folder: Path) -> Callable[[], None]:
    import numpy as np

    a, b = np.arange(5), np.arange(3, 8)
    return lambda: np.testing.assert_array_equal(gpumerge_cli.merge(a, b), np.sort(np.concatenate([a, b])))


_CASES: dict[str, Callable[[Path], Callable[[], None]]] = {
    "merge of two int32 files": _merge_of_integers,
    "sort of text": _sort_of_text,
    "sort of CSV by a column": _sort_of_csv,
    "a cluster's task": _task_of_a_cluster,
    "union of two arrays": _union_of_arrays,
    "merge of two arrays": _merge_of_arrays,
}


def walked(case: str) -> dict[str, int]:
    """The counts of a case, run in this process; and the modules of the package that it has loaded."""
    with tempfile.TemporaryDirectory() as folder:
        work = _CASES[case](Path(folder))
        with Walk() as walk:
            work()
        loaded = sum(name.startswith("gpumerge_cli") for name in sys.modules)
        return {**walk.counts(), "modules loaded": loaded}


def main() -> None:
    """Print a table of all cases, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(_CASES)}")
    parser.add_argument("--one", help="a case to run in this process; its counts are printed as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(walked(options.one)))
        return
    rows = {}
    for case in options.cases or _CASES:
        done = subprocess.run([sys.executable, __file__, "--one", case], capture_output=True, text=True, check=True)
        rows[case] = json.loads(done.stdout.splitlines()[-1])
    names = list(next(iter(rows.values())))
    print(f"| case | {' | '.join(names)} |")
    print(f"|---|{'---|' * len(names)}")
    for case, counts in rows.items():
        print(f"| {case} | {' | '.join(f'{counts[name]:,}' for name in names)} |")


if __name__ == "__main__":
    main()
