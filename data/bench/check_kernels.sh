#!/usr/bin/env bash
# Runs all kernels under compute-sanitizer, also as older devices run them; makes a file for each step in FOLDER.
# usage: data/bench/check_kernels.sh FOLDER [PYTHON [SECONDS [STEP...]]]; needs compute-sanitizer. Without steps all are done.
# SECONDS are for all steps together, 360 by default. Processes run beside each other, one for each core but two.
# Exits with 1 if a tool finds an error, if a process has no summary of its tool, or if a piece of work has not ended. The file
# of a step says which.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-python3}
most=${3:-360}
steps=" ${*:4} "
cores=$(nproc)
processes=$((cores > 26 ? 24 : cores > 4 ? cores - 2 : 2))
sanitizer=$(command -v compute-sanitizer || find /usr/local/cuda*/bin -name compute-sanitizer 2> /dev/null | head -1 || true)
[ -n "$sanitizer" ] || { echo "there is no compute-sanitizer; install CUDA's, or put it on the PATH" >&2; exit 2; }
cd "$(dirname "$0")/../.."
failed=0
# CuPy's own kernel, which counts and joins call; its threads of a warp count on each other without a barrier.
others=(--kernel-regex-exclude kns=cupy_nonzero)
exercise() { # name of the step, seconds, program, beginning of the names of the work, tool and its options if there is one
  [[ $steps = "  " || $steps = *" $1 "* ]] || return 0
  local folder status=0 number begun=$SECONDS limit=$((most - SECONDS)) said="checks right" ended wanted command=()
  limit=$((limit < $2 ? limit : $2))
  limit=$((limit > 1 ? limit : 1))
  [ $# = 4 ] || { command=("$sanitizer" --tool "${@:5}" --error-exitcode 1); said="SUMMARY: "; }
  folder=$(mktemp -d)
  mkdir "$folder/taken"
  for number in $(seq "$processes"); do
    timeout -k 5 "$limit" "${command[@]}" "$python" -m "tests.kernels.$3" "$folder/taken" "$4" > "$folder/$number" 2>&1 &
  done
  for number in $(jobs -p); do wait "$number" || status=1; done
  ended=$(cat "$folder"/[0-9]* | grep -c ' right, in ' || true)
  wanted=$(sed -n '/^pieces of work: /{s///p;q}' "$folder"/[0-9]*)
  [ "$ended" = "$wanted" ] || status=1
  for number in $(seq "$processes"); do
    grep -q "$said" "$folder/$number" || { status=1; echo "NO SUMMARY" >> "$folder/$number"; }
  done
  {
    echo "$1: $ended of ${wanted:-?} pieces of work have ended, in $((SECONDS - begun)) s;" \
      "$(grep -l '^NO SUMMARY' "$folder"/[0-9]* | wc -l) of $processes processes have no summary; exit status $status"
    for number in $(seq "$processes"); do
      echo "process $number of $processes"
      cat "$folder/$number"
    done
  } > "$out/$1.txt"
  head -1 "$out/$1.txt"
  rm -r "$folder"
  [ $status = 0 ] || failed=1
}
# The first one of each program compiles the kernels, which takes long under the sanitizer.
exercise plain 110 exercise ""
exercise memcheck 60 exercise "" memcheck
exercise racecheck 100 exercise "" racecheck "${others[@]}"
# Other work moves by bulk copies, whose writes initcheck does not see.
exercise initcheck 30 exercise "calls by digits" initcheck --print-limit 20
exercise older-plain 60 exercise_older ""
exercise older-memcheck 50 exercise_older "" memcheck
exercise older-racecheck 100 exercise_older "" racecheck "${others[@]}"
[ $failed = 1 ] || rm -f "$out/plain.txt" "$out/older-plain.txt"
exit $failed
