"""Jobs that people come for, each with its command line. gpumerge help finds them by words, the cookbook shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpumerge_cli.cli.options.other_names import OTHER_NAMES, SHORT_NAMES
from gpumerge_cli.dataclass import dataclass

_STEM = 4
"""So many first letters of two longer words are the same if the words are forms of one."""
_ENDINGS = ("ing", "ed", "es", "s", "e")
"""Endings that do not count in words of more letters than that."""

_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "by",
        "do",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "its",
        "my",
        "of",
        "on",
        "or",
        "that",
        "the",
        "them",
        "to",
        "two",
        "with",
    ]
)
"""Words that say nothing about a job."""


@dataclass(frozen=True)
class Recipe:
    """A job."""

    job: str
    """The heading in the cookbook."""
    line: str
    """The command line that does it."""
    words: str
    """More words that people use for it."""


RECIPES = (
    Recipe("Merge sorted files", "gpumerge merge -n a.txt b.txt -o merged.txt", "combine append lines numbers"),
    Recipe("Merge logs by time", "gpumerge merge --time web.log app.log", "date timestamp logs combine interleave"),
    Recipe(
        "Merge CSV files by a column", "gpumerge merge --field amount:n monday.csv tuesday.csv",
        "header combine concatenate cat number",
    ),
    Recipe(
        "Compact sorted Parquet files", "gpumerge merge --field id mon.parquet tue.parquet -o all.parquet",
        "compaction arrow table small files cat concatenate combine",
    ),
    Recipe("Merge JSON Lines by a value", "gpumerge merge --field user.id a.jsonl b.jsonl", "ndjson nested path"),
    Recipe("Sort lines by time", "gpumerge sort --time app.log web.log", "date timestamp log order oldest unsorted"),
    Recipe(
        "Sort a file larger than memory", "gpumerge sort -S 256M --field amount:n sales.csv -o sorted.csv",
        "external big huge limit column number",
    ),
    Recipe(
        "Write each line once", "gpumerge dedupe names.txt",
        "deduplicate remove duplicates unique uniq distinct dedup sort -u",
    ),
    Recipe(
        "Keep the newest row of each key", "gpumerge merge --field id --unique=last old.csv new.csv",
        "latest last update upsert unique recent",
    ),
    Recipe(
        "Find duplicates", "gpumerge sort --field id --only all-duplicates people.csv", "repeated double twice unique",
    ),
    Recipe(
        "Count equal lines", "gpumerge sort --count names.txt",
        "uniq -c histogram frequency group occurrences how often most frequent common",
    ),
    Recipe("Add counts of two files", "gpumerge merge --counted mon.counts tue.counts", "sum uniq -c total frequency"),
    Recipe(
        "Sum a column by key", "gpumerge merge --field city --sum amount north.csv south.csv",
        "add total group by aggregate reduce",
    ),
    Recipe("Find the median and percentiles", "gpumerge rank --quantile 0.5,99% a.i32 b.i32", "quantile p99 middle"),
    Recipe(
        "Find the top 10", "gpumerge sort --field amount:nr --head 10 sales.csv",
        "topk top10 largest greatest first head most bottom smallest reverse descending",
    ),
    Recipe(
        "Show the newest lines of sorted logs", "gpumerge merge --time --tail 2 web.log app.log",
        "latest last 10 recent tail oldest",
    ),
    Recipe(
        "Cut a range out of sorted files",
        "gpumerge merge --time --from 2024-03-01T10:01 --to 2024-03-01T10:03 web.log app.log",
        "between since until find look search grep date slice",
    ),
    Recipe(
        "See what changed between two exports", "gpumerge diff --field id old.csv new.csv",
        "difference changes added removed delta compare files",
    ),
    Recipe(
        "Take lines away that another file has", "gpumerge difference all.txt done.txt",
        "comm except minus subtract anti missing only",
    ),
    Recipe(
        "Find lines that two files have", "gpumerge intersect all.txt done.txt",
        "comm compare common both intersection",
    ),
    Recipe(
        "Join two CSV files", "gpumerge join --field id people.csv towns.csv", "lookup vlookup match left combine",
    ),
    Recipe(
        "Find the last quote before each trade", "gpumerge join --type asof --field sym,at:n trades.csv quotes.csv",
        "asof nearest as-of join time series",
    ),
    Recipe("Check that files are in order", "gpumerge check -n numbers.txt", "sorted validate verify disorder"),
    Recipe(
        "Split a merge into even files", "gpumerge merge --parts 2 all.txt done.txt -o 'part.{part}.txt'",
        "shard partition chunks cut equal",
    ),
    Recipe(
        "Merge compressed files", "gpumerge merge -n a.txt.gz b.txt.gz -o merged.txt.gz",
        "gzip zstd bz2 xz decompress",
    ),
    Recipe(
        "Merge NumPy files", "gpumerge merge a.npy b.npy -o merged.npy", "arrays int32 float64 binary raw structured",
    ),
    Recipe(
        "Merge thousands of files", "gpumerge merge -n --files0-from names -o merged.txt", "many find print0 glob list",
    ),
    Recipe("Merge many pairs of files", "gpumerge batch jobs.toml", "loop xargs make script jobs"),
    Recipe("Shuffle lines", "gpumerge sort -R names.txt -o mixed.txt", "shuf random order mix sample"),
)  # fmt: skip


def matching(words: Sequence[str]) -> list[Recipe]:
    """The recipes that fit the words best; none if they have none of them.

    A word counts more if few recipes have it, and if it is more than a part of a command line. A text of several words
    counts as these words. Words such as "the" do not count.
    """
    wanted = [word for text in words for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _STOP_WORDS]
    scores = dict.fromkeys(RECIPES, 0.0)
    for word in wanted:
        weights = {
            recipe: 2 * _has(f"{recipe.job} {recipe.words}", word) or _has(recipe.line, word) for recipe in RECIPES
        }
        having = sum(map(bool, weights.values()))
        for recipe, weight in weights.items():
            scores[recipe] += weight / max(1, having)
    most = max(scores.values())
    return [recipe for recipe, score in scores.items() if score == most > 0]


def _has(text: str, word: str) -> bool:
    return any(_same(one, word) for one in re.findall(r"[a-z0-9]+", text.lower()))


def _same(one: str, word: str) -> bool:
    """Tell if two words are forms of one, as log and logs, or merge and merging; head and header are not."""
    if one.rstrip("s") == word.rstrip("s") or _stem(one) == _stem(word):
        return True
    return len(word) > _STEM and one[:_STEM] == word[:_STEM] and one.startswith(word[:-1])


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word


def recipe_lines(words: Sequence[str]) -> Iterator[str]:
    """The help for words that name no command; nothing if no recipe has them."""
    found = matching(words)
    if not found:
        return
    for recipe in found:
        yield f"{recipe.job}:"
        yield f"    {recipe.line}"
    yield ""
    name = words[0]
    if name in OTHER_NAMES:
        yield f"In place of {name}: {OTHER_NAMES[name]}."
    commands = [SHORT_NAMES.get(name, (name,))[0] for name in (recipe.line.split()[1] for recipe in found)]
    yield f"gpumerge help {commands[0]} shows all options. The cookbook of the manual has these jobs with data."
