"""Time merges of CSV files whose columns differ, or whose headers do, beside a merge of files with the same columns.

python data/bench/measure_schema.py [--megabytes 250] [--turns 5] [--folder DIR]

It needs about 7 x MEGABYTES of the folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from whole_commands import PROGRAM, in_turns, parser_of, print_rows

COLUMNS = ("id", "name", "city", "amount")
VCF = "##fileformat=VCFv4.3\n##source={0}\n" + "".join(f"##contig=<ID={n}>\n" for n in range(1, 5000))


def write(path: Path, nbytes: int, columns: Sequence[str], step: int, quoted: str = "") -> None:
    """A file of sales by rising ids, with these columns. quoted: a column whose values stand in quotes."""
    rows, key, size = [",".join(columns) + "\n"], 0, 0
    for at in range(nbytes):
        key += 1 + at * step % 3
        row = {
            "id": f"{key:010d}", "name": f"name{at % 977}", "city": f"city-of-{at % 31}",
            "amount": f"{at * step % 100_000}.{at % 100:02d}", "note": f"x{at % 9}",
        }  # fmt: skip
        rows.append(",".join(f'"{row[name]}"' if name == quoted else row[name] for name in columns) + "\n")
        size += len(rows[-1])
        if size >= nbytes:
            break
    path.write_text("".join(rows))


def main() -> None:
    """Print the rows."""
    options = parser_of(__doc__, megabytes=250, turns=5).parse_args()
    nbytes = options.megabytes * 10**6
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write(folder / "a.csv", nbytes, COLUMNS, 7919)
        write(folder / "b.csv", nbytes, COLUMNS, 7907)
        write(folder / "more.csv", nbytes, (*COLUMNS, "note"), 7907)
        write(folder / "other.csv", nbytes, ("name", "id", "amount", "city"), 7907)
        write(folder / "quoted.csv", nbytes, (*COLUMNS, "note"), 7907, quoted="city")
        for letter in "ab":
            content = (folder / f"{letter}.csv").read_text()
            (folder / f"{letter}.vcf").write_text(f"{VCF.format(letter)}#{content}")
        ours = f"cd {folder} && {PROGRAM} merge -q -o out"
        by_prefix = "--header-prefix '#' --headers union --csv --field '#id' a.vcf b.vcf"
        calls = {
            "same columns": f"{ours} --field id a.csv b.csv",
            "union, one column more": f"{ours} --field id --schema union a.csv more.csv",
            "union, another order": f"{ours} --field id --schema union a.csv other.csv",
            "intersection": f"{ours} --field id --schema intersect a.csv more.csv",
            "same columns, one in quotes": f"{ours} --field id quoted.csv quoted.csv",
            "union, one column in quotes": f"{ours} --field id --schema union a.csv quoted.csv",
            "union of headers of 5,000 lines": f"{ours} {by_prefix}",
        }
        print_rows("merge", in_turns(calls, options.turns))


if __name__ == "__main__":
    main()
