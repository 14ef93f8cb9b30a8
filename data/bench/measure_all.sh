#!/usr/bin/env bash
# Makes most results of a GPU in FOLDER, at one commit: those that the README, data/manual/speed.md and the figures show of one
# GPU. In data/results/h100 it does not make memory-merges.md and tables.md. The README there says what makes them.
# usage: data/bench/measure_all.sh FOLDER SCRATCH [SECONDS [STEP...]]
# A call ends within SECONDS, 520 by default. It goes on where the last call on the same FOLDER ended, and begins no step that
# may not end in time. Exits with 0 if all steps are done, with 3 if another call is needed, and with 1 if a step has failed.
# Each step is stopped at the seconds that stand beside it: all steps of arrays take at most 2000 s, all of files 900 s. These
# limits are estimates for an H100 with 16 cores. FOLDER/steps.txt says what the steps took, STEP.done what they printed.
# STEP: does only these. Needs 60 GB of host memory, 20 GB on the device, nvcc, CCCL and ncu, and 40 GB in SCRATCH. PYTHON
# names another python3, NCU another ncu, MEASURED_COMMIT the commit where there is no repository.
set -euo pipefail
. "$(dirname "$0")/steps.sh" 520 "$@"
gpu() { step "bench-$1" "$2" "$here/measure_gpu.sh" "$out" "$1"; }
profile() {
  local metrics
  metrics=$("$python" "$here/profile_kernels.py" --metrics)
  "${NCU:-ncu}" --clock-control none --csv --metrics "$metrics" "$python" "$here/profile_kernels.py" > "$out/profile.csv"
  "$python" "$here/profile_kernels.py" --table "$out/profile.csv" > "$out/profile.md"
}
compare_sorts() {
  "$python" -m gpumerge_cli generate "$scratch/keys.u32" --count 2^28 --shuffled --seed 1
  "$python" -m gpumerge_cli sort --compare --backend=gpu "$scratch/keys.u32" --report="$out/compare-sorts.json" \
    2> "$out/compare-sorts.txt"  # reports go to standard error
  "$python" "$here/measured_on.py" "$out/compare-sorts.json"
  rm -f "$scratch/keys.u32"
}
export -f profile compare_sorts
export out scratch here python
step machine 20 "$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); import measured_on as m; print(m.measured_on())' "$here"
gpu compile 120
gpu dtypes 150
gpu shapes 130
gpu pairs 90
gpu runs 70
gpu many-runs 50
gpu sizes 60
gpu ladder 30
gpu large 90
gpu sorts 110
gpu small-sorts 30
gpu pair-sorts 20
step compare-sorts 60 bash -ec compare_sorts
py device 110 measure_device.py "$out/device.md" --turns 7
py sets 150 measure_device_sets.py "$out/sets.md" --turns 5
py ranks 60 measure_device_ranks.py "$out/ranks.md"
py answers 150 measure_answers.py "$out/answers.md"
py many-runs 120 measure_many_runs.py "$out/many-runs.md" --turns 3
py columns 60 measure_columns.py "$out/columns.md"
printed calls 20 measure_calls.py
printed calls-beside-cccl 30 compare_calls.py
printed start 150 measure_first_use.py --scratch "$scratch"
step profile 120 bash -ec profile
py workers 180 measure_workers.py "$scratch" "$out/workers.md" --turns 2
py text-merges 300 measure_text.py "$scratch" "$out/text-merges.md" --gigabytes 1 --repeat 3 --backends cpu,gpu --cores 2,16
py file-sorts 240 measure_sorts.py "$scratch" "$out/file-sorts.md" --backends gpu,cpu --only big,lines,records
py files 120 measure_files.py "$scratch" "$out/files.md" --repeat 2 --backend gpu --only '2 x 8 GB'
py parts 60 measure_parts.py "$scratch" "$out/parts.md" --gigabytes 8 --repeat 2
end
