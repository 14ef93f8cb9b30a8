#!/usr/bin/env bash
# Compare the kernels on the GPU: right first, then timed. usage: data/measure_gpu.sh FOLDER [PYTHON]
# Writes gpu-compare-*.json and the tables as .txt to FOLDER; needs 6 GB of room in TMPDIR and 10 GB on the device.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-python3}
PYTHONPATH=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
gpumerge() { "$python" -m gpumerge_cli "$@"; }
compare() { # name, files and options
  gpumerge merge --backend gpu --compare --repeat 11 --report "$out/gpu-compare-$1.json" "${@:2}" 2> "$out/gpu-compare-$1.txt"
  cat "$out/gpu-compare-$1.txt"
}
for case in ${CASES:-i32:2^28 i64:2^27 f32:2^28 f64:2^27 i16:2^28 u8:2^29}; do
  suffix=${case%:*}
  gpumerge generate "a.$suffix" "b.$suffix" --count "${case#*:}" --seed 1
  compare "$suffix" "a.$suffix" "b.$suffix"
  case $suffix in
    i32 | i64) compare "$suffix-uncoarsened" "a.$suffix" "b.$suffix" --kernel basic --items-per-thread 1 ;;
  esac
  rm ./*
done
gpumerge generate a.txt b.txt -n --count 2^24 --seed 1
compare txt a.txt b.txt -n
