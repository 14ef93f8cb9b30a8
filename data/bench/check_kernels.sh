#!/usr/bin/env bash
# Runs all kernels under compute-sanitizer; makes memcheck.txt, racecheck.txt and initcheck.txt in FOLDER.
# usage: data/bench/check_kernels.sh FOLDER [PYTHON [SECONDS]]; needs compute-sanitizer, and 16 cores for 14 processes.
# Exits with 1 if a tool finds an error, or if a step takes longer than it may: its file says how far it came. SECONDS
# are for all steps together.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-python3}
most=${3:-330}
processes=14
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer | head -1)
cd "$(dirname "$0")/../.."
exercise() { # name of the result, seconds, beginning of the names of the work, command ahead of the program
  local folder status=0 number begun=$SECONDS limit=$((most - SECONDS))
  limit=$((limit < $2 ? limit : $2))
  limit=$((limit > 1 ? limit : 1))
  folder=$(mktemp -d)
  mkdir "$folder/taken"
  for number in $(seq "$processes"); do
    timeout -k 5 "$limit" "${@:4}" "$python" -m tests.kernels.exercise "$folder/taken" "$3" > "$folder/$number" 2>&1 &
  done
  for number in $(jobs -p); do wait "$number" || status=1; done
  {
    echo "$1: $(cat "$folder"/[0-9]* | grep -c ' right, in ') of $(find "$folder/taken" -type f | wc -l) pieces of work" \
      "that were begun have ended, in $((SECONDS - begun)) s; exit status $status"
    for number in $(seq "$processes"); do
      echo "process $number of $processes"
      cat "$folder/$number"
    done
  } > "$out/$1.txt"
  head -1 "$out/$1.txt"
  rm -r "$folder"
  return $status
}
failed=0
exercise plain 110 "" || failed=1  # compiles the kernels, which takes long under the sanitizer
exercise memcheck 70 "" "$sanitizer" --tool memcheck --error-exitcode 1 || failed=1
exercise racecheck 110 "" "$sanitizer" --tool racecheck --error-exitcode 1 || failed=1
exercise initcheck 40 calls "$sanitizer" --tool initcheck --print-limit 20 --error-exitcode 1 || failed=1
[ $failed = 1 ] || rm "$out/plain.txt"
exit $failed
