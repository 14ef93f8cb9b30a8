#!/usr/bin/env bash
# Makes bench-*.json in FOLDER: all that data/manual/speed.md and the figures show of the GPU. A case of 2^28 items
# takes about 20 s on an H200.
# usage: data/bench/measure_gpu.sh FOLDER [RESULT...]; needs 60 GB of host memory, 20 GB on the device, nvcc and CCCL.
# RESULT: makes only these, as in `measure_gpu.sh FOLDER dtypes pairs`. PYTHON names another python3, and MEASURED_COMMIT the
# commit where there is no repository. FOLDER/measured.txt says where each result was measured, and at which commit.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
only=("${@:2}")
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH=$(cd "$here/../.." && pwd)
export PYTHONPATH
MEASURED_COMMIT=$("$python" "$here/measured_on.py" --commit)
export MEASURED_COMMIT
asked() { # name of the result
  [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}
bench() { # name of the result, options
  if ! asked "$1"; then return; fi
  "$python" -m gpumerge_cli bench --backend gpu -q -o "$out/bench-$1.json" "${@:2}"
  "$python" "$here/measured_on.py" "$out/bench-$1.json"
}
"$python" "$here/compile_cccl.py" --merges int32,int64,float32,float64,int16,uint8,int32+4,int64+8,int64+4 \
  --sorts int32,uint32,uint64,float32,float64,uint32+4
bench dtypes --kernels path --dtypes int32,int64,float32,float64,int16,uint8 --sizes 2^28 --repeat 9
bench pairs --kernels path --dtypes int32+4,int64+8,int64+4 --sizes 2^27 --repeat 9
bench shapes --kernels path --dtypes int32 --sizes 2^28 --shapes few,equal,disjoint,blocky,one-sided,tiny --repeat 9
bench runs --kernels path --dtypes int32 --sizes 2^28 --runs 4,8,16 --repeat 9
bench many-runs --kernels path --dtypes int32 --sizes 2^28 --runs 64,1000 --repeat 5
bench sizes --kernels path --dtypes int32,int64 --sizes 2^10:2^26:4 --repeat 15
bench ladder --kernels basic,tiled,circular,path --dtypes int32,int64 --sizes 2^26 --repeat 7
bench large --kernels path --dtypes int32 --sizes 2^30 --repeat 7
bench sorts --shapes shuffled --dtypes uint32,float32,uint64,float64 --sizes 2^28 --repeat 5
bench small-sorts --shapes shuffled --dtypes int32 --sizes 2^10:2^24:4 --repeat 15
bench pair-sorts --shapes shuffled --dtypes uint32+4 --sizes 2^24 --repeat 7
if asked calls; then "$python" "$here/compare_calls.py" > "$out/calls-beside-cccl.md"; fi
