# Steps of a script that makes results, which sources this file. $out holds the results, $only the names of the steps that are
# asked for, with blanks around them, or one blank for all, and $most the seconds in which the call must end.
# shellcheck shell=bash disable=SC2034
left=0 failed=0
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
