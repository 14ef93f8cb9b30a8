"""Command lines that the manual shows, by command, each with a sentence about it. The tests run them."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "merge": (
        ("gpumerge merge a.i32 b.i32 -o merged.i32", "Merge two files of 32-bit integers."),
        ("gpumerge merge -k 2,2n -t , january.csv february.csv", "Merge lines by the number in their second field."),
        ("gpumerge merge --field amount:n monday.csv tuesday.csv", "Merge CSV by a column of the header, as numbers."),
        ("gpumerge merge --time web1.log app.log syslog -o all.log", "Merge logs by time, each in its own form."),
        ("gpumerge merge --unique a.i32 b.i32 -o distinct.i32", "Merge, and keep one of several equal items."),
        ("gpumerge merge --field amount:n --unique=last monday.csv tuesday.csv", "Keep the last of equal keys."),
        ("gpumerge merge --field city --sum amount north.csv south.csv", "Add the amounts of each city."),
        ("gpumerge merge web1.log web2.log --head 1", "Write the first line of the merge, and read little more."),
        ("gpumerge merge a.i32 b.i32 --compare", "Check and time every kernel on these files."),
        ("gpumerge merge a.i32 b.i32 --memory 256M --report r.json -o merged.i32", "Merge in 256 MiB. Write a report."),
    ),
    "union": (
        ("gpumerge union a.i32 b.i32 -o either.i32", "Write the integers that a, b or both hold."),
        ("gpumerge union --distinct -k 2,2n -t , january.csv february.csv", "Keep the first line of each number."),
    ),
    "intersect": (("gpumerge intersect a.i32 b.i32 -o both.i32", "Write the integers that both files hold."),),
    "difference": (("gpumerge difference a.i32 b.i32 -o rest.i32", "Write the integers of a that b does not hold."),),
    "symmetric": (
        ("gpumerge symmetric a.i32 b.i32 -o changed.i32", "Write the integers that only one of the files holds."),
    ),
    "compare": (
        ("gpumerge compare january.txt february.txt", "Write what only one of two lists holds, and what both hold."),
        ("gpumerge compare -12 january.txt february.txt", "Write the lines that both lists hold."),
    ),
    "diff": (
        ("gpumerge diff --field id old.csv new.csv", "Write the rows that were added, removed or changed."),
        ("gpumerge diff --field id --total old.csv new.csv", "Count them."),
        ("gpumerge diff --field id --ignore seen --changes changed.csv old.csv new.csv", "List changed columns, too."),
        ("gpumerge diff --sort-inputs -t , -k 2,2n january.csv february.csv", "Sort both files first."),
    ),
    "join": (
        ("gpumerge join -t , -j 2 -n january.csv february.csv", "Join lines by the numbers in their second fields."),
        ("gpumerge join -t , -j 2 -n -a 1 -e none -o auto january.csv february.csv", "Keep all lines of the first."),
        ("gpumerge join --field amount:n monday.csv tuesday.csv", "Join CSV by a column of both headers, as numbers."),
        ("gpumerge join -1 1,2n -2 3,1 stays.txt rooms.txt", "Join by two fields, the second in numeric order."),
        (
            "gpumerge join --type anti -j id old.npy new.npy --output gone.npy",
            "Records whose key the other file lacks.",
        ),
        (
            "gpumerge join -1 id -2 person people.parquet towns.parquet --output joined.parquet",
            "Join tables whose keys have different names.",
        ),
        (
            "gpumerge join --type asof --field sym,at:time --tolerance 5m trades.csv quotes.csv --output both.csv",
            "Each trade beside the last quote of its symbol, at most five minutes before it.",
        ),
    ),
    "sort": (
        ("gpumerge sort -n -o sorted.txt numbers.txt", "Sort lines by their leading numbers."),
        ("gpumerge sort -m -k 2,2n -t , january.csv february.csv", "Merge files that are sorted already."),
        ("gpumerge sort --field amount:nr sales.csv", "Sort CSV by amount, the greatest first, under its header."),
        ("gpumerge sort -n --tail 3 numbers.txt", "Write the three greatest numbers, without sorting the others."),
        (
            "gpumerge sort --counted counts.txt",
            "Sort what uniq -c wrote by its text; add counts of equal lines.",
        ),
        ("gpumerge sort --time app.log", "Sort a log by the first time in each line."),
        (
            "gpumerge sort --unique --keep-order -o once.txt numbers.txt",
            "Write each line once, where it is first seen.",
        ),
        ("gpumerge sort -o sorted.i32 shuffled.i32", "Sort raw numbers, whose type the suffix gives."),
    ),
    "check": (
        ("gpumerge check a.i32 b.i32", "Check that each file is in order."),
        ("gpumerge check -n numbers.txt", "Check that the lines are in the order of their numbers."),
    ),
    "rank": (
        ("gpumerge rank a.i32 b.i32 --quantile 0.5,99%", "Show the median of two files, and their 99th percentile."),
        ("gpumerge rank a.i32 b.i32 --of 7 --of -3", "Show how many items go before 7, and before -3."),
        ("gpumerge rank a.i32 b.i32 --split 4", "Cut the merge into four even parts."),
        ("gpumerge rank a.i32 b.i32 --range 10:20 -o ten.i32", "Merge only the items of ranks 10 to 19."),
    ),
    "batch": (
        ("gpumerge batch jobs.toml --dry-run", "Show the jobs of this file as a script."),
        ("gpumerge batch jobs.toml --jobs 2 --keep-going --joblog jobs.log", "Run two jobs at a time, and log them."),
        ("gpumerge batch jobs.toml --joblog jobs.log --resume", "Run only the jobs that are still to be done."),
    ),
    "path": (
        (
            "gpumerge path --items '1 3 5 7' --items '2 3 4 8' --block-size 2 --items-per-thread 2 --rank 5",
            "Draw the path of eight items, cut for two blocks of two threads. Show the search for the cut at rank 5.",
        ),
        ("gpumerge path a.i32 b.i32 -o path.svg", "Draw the path of two files as a figure."),
        (
            "gpumerge path a.i32 b.i32 --kernel circular --html page.html",
            "Write a page for a browser: drag the cut, see what memory does, switch on bugs of printed kernels.",
        ),
        (
            "gpumerge path --items '1 3 5 7' --items '2 3 4 8' --kernel circular --tile-size 4 --rounds",
            "Show the items that a block of the circular kernel holds, round by round.",
        ),
    ),
    "learn": (
        ("gpumerge learn puzzles", "Write exercises and kernels with a gap into a folder."),
        ("gpumerge learn --solution co_rank", "Print a solution."),
    ),
    "bench": (
        ("gpumerge bench --quick", "Measure this machine in about a minute."),
        (
            "gpumerge bench --sizes 2^10:2^14:4 --runs 2,4 --repeat 1 -o bench.json -o bench.md",
            "Time 2^10, 2^12 and 2^14 items of two and four runs, and write JSON and Markdown.",
        ),
        ("gpumerge bench --render bench.json", "Show the table again, from results."),
    ),
    "generate": (
        ("gpumerge generate a.i32 b.i32 --count 1M --shape blocky", "Make two sorted files of a million integers."),
        ("gpumerge generate numbers.txt -n --count 2^10 --seed 7", "Make 1,024 lines of sorted numbers."),
        ("gpumerge generate - --format text --count 5 --shuffled", "Print five lines in no order."),
    ),
    "info": (
        ("gpumerge info", "Show devices, versions, and auto's picks."),
        ("gpumerge info --config", "Show every setting, and its source."),
        ("gpumerge info --field id monday.parquet tuesday.parquet", "Show row groups, and where the files overlap."),
    ),
}
