"""Time merges and sorts of JSON Lines by a nested key, beside jq with sort, and DuckDB.

python data/bench/measure_json.py [--megabytes 500] [--turns 3] [--folder DIR]

It needs about 7 x MEGABYTES of the folder, and jq, sort and the package duckdb.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path

from whole_commands import PROGRAM, in_turns, parser_of, print_rows

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "naïve", "line\nbreak", 'a "quote"')


def write(path: Path, nbytes: int, seed: int) -> None:
    """A log of events by rising ids, which are a member of a member."""
    draw = random.Random(seed)
    key = size = number = 0
    with open(path, "w") as file:
        while size < nbytes:
            key, number = key + draw.randrange(2000), number + 1
            words = [draw.choice(WORDS) for _ in range(10)]
            value = {
                "event": {"id": key, "at": f"2024-03-01T{number % 24:02}:{number % 60:02}:00Z", "kind": words[0]},
                "user": {"id": draw.randrange(10**6), "name": " ".join(words[1:3]), "tags": words[3:5]},
                "amount": draw.randrange(10**6) / 100, "ok": draw.random() < 0.5, "message": " ".join(words[5:]),
            }  # fmt: skip
            size += file.write(json.dumps(value, ensure_ascii=False) + "\n")


def main() -> None:
    """Print the rows."""
    options = parser_of(__doc__, megabytes=500, turns=3).parse_args()
    nbytes = options.megabytes * 10**6
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        for seed, letter in enumerate("ab"):
            write(folder / f"{letter}.jsonl", nbytes, seed)
        cut = "jq -r '\"\\(.event.id)\\t\\(tojson)\"'"
        # A shell waits for these, so that their seconds count.
        (folder / "jq.sh").write_text(
            f"rm -f a b; mkfifo a b; {cut} a.jsonl > a & {cut} b.jsonl > b & "
            "sort -m -s -n -k1,1 a b | cut -f2- > out; wait"
        )
        read = "read_json(['a.jsonl', 'b.jsonl'], format='newline_delimited')"
        (folder / "duck.py").write_text(
            f"import duckdb\nduckdb.sql(\"copy (from {read} order by event.id) to 'out' (format json)\")\n"
        )
        ours = f"cd {folder} && {PROGRAM}"
        calls = {
            "merge": f"{ours} merge -q --field event.id a.jsonl b.jsonl -o out",
            "sort, of unsorted inputs": f"{ours} sort -s --compressed --field event.id b.jsonl a.jsonl -o out",
            "merge by jq and sort -m": f"cd {folder} && bash jq.sh",
            "sort by DuckDB": f"cd {folder} && {sys.executable} duck.py",
        }
        print_rows("command", in_turns(calls, options.turns))


if __name__ == "__main__":
    main()
