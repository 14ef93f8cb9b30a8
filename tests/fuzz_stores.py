"""Merge, sort and check objects of a store that lies: the result is right, or is refused in one line.

python -m tests.fuzz_stores --cases 2000 --seed 1 [--seconds N]
python -m tests.fuzz_stores --only 1234

A store answers for another range, with another tag, too little or too much, without headers, with half an XML; it does
a request twice, is busy, breaks off, or does what it is asked for and its answer is lost. A command must end with the
right bytes and exit code 0, or with one line and exit code 2. Then the old object is there, or the line tells that the
new one may be. No upload is left that no line names. Wrong answers that nobody can tell from right ones are not tried:
other bytes under the right headers, and an upload that a machine on the way begins twice.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import random
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from gpumerge_cli.cli import app
from tests.stores.conftest import SECRET
from tests.stores.conftest import settings as variables
from tests.stores.lying_store import LIES, Lying, LyingServer

PART = 4096
SCHEMES = ("s3", "s3", "s3", "gs", "http")


@contextlib.contextmanager
def store_at(server: LyingServer) -> Iterator[None]:
    """This process's URLs lead to the server, with small parts, few tries and no pauses."""
    from gpumerge_cli.formats import stored_output
    from gpumerge_cli.formats.stores import other_objects, s3_client

    account = {"gcs_base_url": server.endpoint, "disable_oauth": True}
    settings = variables(server.endpoint) | {
        "AWS_MAX_ATTEMPTS": "3",
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(
            account | dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        ),
    }
    retries = {
        "max_retries": 2,
        "backoff": {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2), "base": 2.0},
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, settings))
        stack.enter_context(mock.patch.dict(other_objects._RETRIES, retries))
        stack.enter_context(mock.patch.dict(other_objects._TIMES, {"allow_http": True}))
        for module, name, value in (
            (stored_output, "LEAST_PART", PART),
            (stored_output, "_UNKNOWN", PART),
            (s3_client, "_ANSWER_SECONDS", 5),
            (time, "sleep", lambda seconds: None),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        s3_client._made.cache_clear()
        yield
        s3_client._made.cache_clear()


def wrong(seed: int, server: LyingServer, counts: Counter[str]) -> str:
    """What is wrong with the case `seed`, "" if nothing is. counts: of outcomes, to which it adds."""
    rng = random.Random(seed)
    bucket = f"bucket{seed}"
    store = Lying(random.Random(seed + 1), rng.choice([0.02, 0.1, 0.3, 0.6]))
    every = [f"{kind}: {lie}" for kind, lies in LIES.items() for lie in lies]
    asked = rng.choice(["all", "few", "writes", "writes"])
    if asked == "few":
        store.kinds = set(rng.sample(every, 6))
    elif asked == "writes":  # otherwise most runs end at their inputs
        store.kinds = {one for one in every if not one.startswith(("GET: ", "HEAD: "))}
    store.page = rng.choice([1, 2, 1000])
    store.tagged = rng.random() < 0.85
    runs: list[list[bytes]] = []
    urls = []
    for number in range(rng.randrange(1, 4)):
        count = rng.choice([0, 1, 20, 300, 1500])
        runs.append(sorted(b"%05d %d" % (rng.randrange(10**5), number) for _ in range(count)))
        key = f"deep/{number}.txt"
        store.put(key, b"".join(line + b"\n" for line in runs[-1]))
        scheme = rng.choice(SCHEMES)
        at = server.endpoint.partition("://")[2] + "/" if scheme == "http" else ""
        urls.append(f"{scheme}://{at}{bucket}/{key}")
    merged = b"".join(line + b"\n" for line in sorted(line for run in runs for line in run))
    server.buckets[bucket] = store
    scheme = rng.choice(["s3", "s3", "gs", "file"])
    parts = 2 if rng.random() < 0.15 else 1
    keys = [f"out{number}.txt" for number in range(parts)]
    for key in keys:
        if rng.random() < 0.5:
            store.put(key, b"before\n")
    before = {key: store.objects.get(key) for key in keys}
    for _ in range(rng.choice([0, 0, 3])):  # uploads of others, which stay
        store.begin(rng.choice([*keys, "out0.txt.others"]), datetime.now(UTC) - timedelta(days=1))
    others = set(store.uploads)
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/" if scheme == "file" else f"{scheme}://{bucket}/"
        output = place + ("out{part}.txt" if parts > 1 else "out0.txt")
        words = [*rng.choice([["merge", "-q"], ["sort"], ["merge", "-q", "--threads=2"]]), *urls, "-o", output]
        words += [f"--parts={parts}"] if parts > 1 else []
        said = io.StringIO()
        warnings, logger = logging.StreamHandler(said), logging.getLogger("gpumerge")
        logger.addHandler(warnings)
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            try:
                code = app.invoke(words)
            except BaseException:
                code = -1
                traceback.print_exc(file=said)
        logger.removeHandler(warnings)
        after = [Path(folder, key).read_bytes() if Path(folder, key).exists() else None for key in keys]
    if scheme != "file":
        after = [store.objects.get(key) for key in keys]
    told = said.getvalue()
    counts[f"{scheme} {'right' if code == 0 else 'refused'}"] += 1
    counts.update(set(store.lies))
    shown = f"seed {seed}: {' '.join(words)} (exit {code})\n{told}lies: {', '.join(store.lies)}\n"
    lines = [line for line in told.splitlines() if ": warning: " not in line]
    left = {store.uploads[name][0] for name in set(store.uploads) - others}
    unnamed = [
        key for key in left if not any(f"{bucket}/{key}: " in line and "upload" in line for line in told.splitlines())
    ]
    # The library for Google's stores begins an upload again after an answer of 500, and tells nobody.
    hidden = scheme == "gs" and code == 0 and any(lie.startswith("POST uploads: lost") for lie in store.lies)
    if unnamed and not hidden:
        return f"an upload of {', '.join(unnamed)} is left, and no line names it: {shown}"
    if others - set(store.uploads):
        return f"an upload of others is gone: {shown}"
    if code == 0:
        if b"".join(one or b"" for one in after) != merged:
            return f"another output than the right one: {shown}"
        return f"lines beside success: {shown}" if lines else ""
    if code != 2 or len(lines) != 1 or not lines[0].startswith("gpumerge: ") or SECRET in told or "--traceback" in told:
        return f"neither the output nor one line: {shown}"
    if scheme == "file":
        return f"a file is left: {shown}" if any(one is not None for one in after) else ""
    for key, data in zip(keys, after, strict=True):
        if data == before[key]:
            continue
        if f"{key}" in lines[0].partition("these parts are new: ")[2]:
            continue
        if not any(
            word in lines[0] for word in ("is in place all the same", "may be the new one", "in place is not known")
        ):
            return f"a changed object that is not told of: {shown}"
    return ""


def run_cases(seed: int, cases: int, seconds: float) -> int:
    """Try cases until their number or the time is over; the number of wrong ones."""
    start, counts, failed, tried = time.monotonic(), Counter[str](), 0, 0
    with LyingServer() as server, store_at(server):
        for number in range(seed, seed + cases):
            if time.monotonic() - start > seconds:
                break
            tried += 1
            message = wrong(number, server, counts)
            server.buckets.pop(f"bucket{number}")
            if message:
                failed += 1
                print(message, f"again: python -m tests.fuzz_stores --only {number}", sep="\n", flush=True)
    print(*(f"{count:6} {name}" for name, count in sorted(counts.items())), sep="\n")
    print(f"{tried} cases, {failed} wrong")
    return failed


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after so many seconds")
    parser.add_argument("--only", type=int, help="try this one case")
    options = parser.parse_args(words)
    print(f"seed {options.seed}", flush=True)
    if options.only is not None:
        return int(run_cases(options.only, 1, options.seconds) > 0)
    return int(run_cases(options.seed, options.cases, options.seconds) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
