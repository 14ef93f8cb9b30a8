#!/usr/bin/env bash
# Makes the results of a CPU in FOLDER, at one commit, those that the README and data/manual/speed.md show first.
# usage: data/bench/measure_cpu.sh FOLDER SCRATCH [SECONDS [STEP...]]
# A call ends within SECONDS, 36000 by default. It goes on where the last call on the same FOLDER ended, and begins no step that may
# not end in time. Exits with 0 if all steps are done, with 3 if another call is needed, and with 1 if a step has failed. Each step
# is stopped at the seconds that stand beside it. FOLDER/steps.txt says what the steps took, STEP.done what they printed.
# STEP: does only these. Wants a machine that does nothing else, 20 GB in SCRATCH, and the peers: GNU sort, comm and join, jq, awk,
# DuckDB, polars, DataFusion and pyarrow. Rows of those that are missing are left out. PYTHON names another python3, and
# MEASURED_COMMIT the commit where there is no repository.
set -euo pipefail
. "$(dirname "$0")/steps.sh" 36000 "$@"
unset PYTHONDONTWRITEBYTECODE
"$python" -m compileall -q gpumerge_cli
printed starts 120 start_up.py --turns 20
py memory-merges 300 measure_vectors.py "$out/memory-merges.md"
py text-merges 900 measure_text.py "$scratch" "$out/text-merges.md" --gigabytes 0.4 --repeat 3
py text-merges-1gb 300 measure_text.py "$scratch" "$out/text-merges-1gb.md" --gigabytes 1 --repeat 3 --only log
py file-sorts 900 measure_sorts.py "$scratch" "$out/file-sorts.md" --backends cpu --only records,lines
py files 1800 bench_files.py "$scratch" --out "$out/files" --repeat 3
py batch 600 measure_batch.py "$scratch" "$out/batch.md" --repeat 3
py tables 900 measure_tables.py "$out/tables.md" --turns 3 --folder "$scratch"
printed json 900 measure_json.py --turns 1 --folder "$scratch"
py sets 600 measure_sets.py "$scratch" "$out/sets.md" --repeat 3
py joins 600 measure_join.py "$scratch" "$out/joins.md" --repeat 3
printed keys 600 measure_keys.py --turns 3 --folder "$scratch"
py rank 600 measure_rank.py "$scratch" "$out/rank.md" --repeat 3
py diff 400 measure_diff.py "$scratch" "$out/diff.md" --repeat 3
py dedupe 400 measure_dedupe.py "$scratch" "$out/dedupe.md" --repeat 3
printed frames 300 measure_frames.py --turns 7
printed schema 300 measure_schema.py --turns 3 --folder "$scratch"
printed source 300 measure_source.py --turns 3 --folder "$scratch"
py blocks 600 measure_blocks.py "$out/blocks.md" --turns 3 --folder "$scratch"
end
