#!/usr/bin/env bash
# Runs the kernels as older devices run them, without bulk copies, under compute-sanitizer; makes older-*.txt in FOLDER.
# usage: data/bench/check_older.sh FOLDER [PYTHON]; needs compute-sanitizer. Two minutes on an H200 and 16 cores.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-python3}
cd "$(dirname "$0")/../.."
parts=12
exercise() { # name of the result, command ahead of the program
  local work status=0 part
  work=$(mktemp -d)
  for part in $(seq 0 $((parts - 1))); do
    "${@:2}" "$python" -m tests.kernels.exercise_older "$part/$parts" > "$work/$part" 2>&1 &
  done
  for part in $(jobs -p); do wait "$part" || status=1; done
  for part in $(seq 0 $((parts - 1))); do
    echo "part $part of $parts"
    cat "$work/$part"
  done > "$out/older-$1.txt"
  rm -r "$work"
  return $status
}
exercise plain  # compiles the kernels, which takes long under the sanitizer
exercise memcheck compute-sanitizer --tool memcheck --error-exitcode 1
exercise racecheck compute-sanitizer --tool racecheck --error-exitcode 1
rm "$out/older-plain.txt"
