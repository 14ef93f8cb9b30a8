#!/usr/bin/env bash
# Compare the kernels on the GPU: right first, then timed. usage: data/measure_gpu.sh FOLDER [PYTHON]
# Writes gpu-compare-*.json and .md to FOLDER; needs 6 GB of room in TMPDIR and 10 GB on the device.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-python3}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gpumerge() { "$python" -m gpumerge_cli "$@"; }
for case in i32:2^28 i64:2^27 f32:2^28 f64:2^27 i16:2^28 u8:2^29; do
  suffix=${case%:*}
  gpumerge generate "$work/a.$suffix" "$work/b.$suffix" --count "${case#*:}" --seed 1
  gpumerge merge "$work/a.$suffix" "$work/b.$suffix" --backend gpu --compare --repeat 11 \
    --report "$out/gpu-compare-$suffix.json" 2> "$out/gpu-compare-$suffix.txt"
  cat "$out/gpu-compare-$suffix.txt"
  rm "$work"/*
done
gpumerge generate "$work/a.txt" "$work/b.txt" -n --count 2^24 --seed 1
gpumerge merge "$work/a.txt" "$work/b.txt" -n --backend gpu --compare --no-check --repeat 11 \
  --report "$out/gpu-compare-txt.json" 2> "$out/gpu-compare-txt.txt" || true
cat "$out/gpu-compare-txt.txt"
