#!/usr/bin/env bash
# Tests and measures several GPUs; writes FOLDER/devices-*.txt and FOLDER/devices*.md.
# usage: data/bench/measure_devices.sh FOLDER [PYTHON]; SCRATCH: a folder with 40 GB of room. Needs 60 GB of host memory.
# STEPS="probe tests check start measure" chooses: on two H200s about 20, 200, 100, 60 and 250 seconds.
set -uo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-python3}
cd "$(dirname "$0")/../.." || exit
export PYTHONPATH=$PWD
scratch=${SCRATCH:-$PWD/build/scratch}
mkdir -p "$scratch"
for step in ${STEPS:-probe tests check start measure}; do
  case $step in
  probe)
    { "$python" -m gpumerge_cli info --json; "$python" data/bench/probe_register.py "$scratch" /dev/shm; } \
      2>&1 | tee "$out/devices-probe.txt" ;;
  tests)
    timeout 280 "$python" -m pytest -q -n 0 -x -m gpu -p no:cacheprovider --durations 5 \
      tests/backends/test_several*.py tests/cli/test_cli_info.py 2>&1 | tee "$out/devices-tests.txt" ;;
  check)
    # A sort that is spread as a large one is, under the memory checker.
    timeout 120 compute-sanitizer --tool memcheck "$python" data/bench/check_devices.py \
      2>&1 | tee "$out/devices-memcheck.txt" ;;
  start)
    "$python" data/bench/measure_start.py --scratch "$scratch" 2>&1 | tee "$out/devices-start.md" ;;
  measure)
    timeout 400 "$python" data/bench/measure_devices.py "$out" --items "${ITEMS:-2^30}" --file-gb "${FILE_GB:-16}" \
      --turns "${TURNS:-5}" --scratch "$scratch" 2>&1 | tee "$out/devices-measure.txt" ;;
  esac
done
