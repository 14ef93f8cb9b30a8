# What scripts share that make results at one commit, step by step. Such a script sources this file with its usual seconds and
# its own arguments: . steps.sh USUAL FOLDER SCRATCH [SECONDS [STEP...]]
# $out is FOLDER, $scratch SCRATCH, $python the interpreter and $here the folder of this file; the current folder is the project's.
# shellcheck shell=bash disable=SC2034
out=$(mkdir -p "$2" && cd "$2" && pwd)
scratch=$(mkdir -p "$3" && cd "$3" && pwd)
most=${4:-$1}
only=" ${*:5} "
left=0 failed=0
python=${PYTHON:-python3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONPATH=$(cd "$here/../.." && pwd)
export PYTHONPATH
cd "$here/../.."
now=$("$python" "$here/measured_on.py" --commit)
then=$(cat "$out/commit.txt" 2> /dev/null || echo "$now")
[ "$now" = "$then" ] || { echo "$out holds results of commit $then, not of $now; give another folder" >&2; exit 1; }
echo "$now" > "$out/commit.txt"
export MEASURED_COMMIT=$now
step() { # name, the most seconds that it may take, command
  local status=0 begun=$SECONDS file=$out/$1.part
  [[ $only = "  " || $only = *" $1 "* ]] || return 0
  [ ! -e "$out/$1.done" ] || return 0
  if [ $((most - SECONDS)) -lt "$2" ]; then
    left=$((left + 1))
    return 0
  fi
  timeout -k 5 "$2" "${@:3}" > "$file" 2>&1 || status=$?
  echo "$1: $((SECONDS - begun)) s of $2; exit status $status" | tee -a "$out/steps.txt"
  if [ $status = 0 ]; then
    mv "$file" "$out/$1.done"
  else
    failed=1
    tail -3 "$file" >&2
  fi
}
py() { step "$1" "$2" "$python" "$here/$3" "${@:4}"; }
printed() { step "$1" "$2" bash -c 'file=$1; shift; "$@" > "$file"' - "$out/$1.md" "$python" "$here/$3" "${@:4}"; }
end() { # the script's last command
  [ $failed = 0 ] || exit 1
  [ $left = 0 ] || { echo "$left steps are left; call it again"; exit 3; }
}
