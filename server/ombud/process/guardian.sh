# Ombud's guardian: it ends what Ombud started, should Ombud itself be killed.
#
# $1 is the hub's mark (hexadecimal digits). Standard input is a connection whose other end only Ombud holds: a line
# "+N" enters process group N, "-N" strikes it out, and the end of the input means that Ombud is gone.
# POSIX sh only. It prints nothing: it must not hold Ombud's own output open.
set -u
mark=$1
groups=' '

# Whoever ends Ombud by a signal to many processes must not end this one first.
trap '' HUP INT QUIT TERM PIPE ALRM USR1 USR2

# Linux: the processes that carry the hub's mark, as NUMBER/environ. They may have left their group. Elsewhere: none.
marked() {
  [ -r /proc/self/environ ] || return 0
  (cd /proc && grep -l -s -F -e "OMBUD_HUB=$mark" [0-9]*/environ)
}

send() {
  for group in $groups; do
    kill -s "$1" -- "-$group" 2>/dev/null
  done
  for entry in $(marked); do
    kill -s "$1" -- "${entry%/environ}" 2>/dev/null
  done
}

# Whether somebody lives in group $1. Zombies, which keep its number in use until their parent looks, do not: in a
# container the parent of orphans may never look. "PID (NAME) STATE PARENT GROUP ..." is how /proc/PID/stat begins.
inhabited() {
  kill -s 0 -- "-$1" 2>/dev/null || return 1
  [ -r /proc/self/stat ] || return 0
  (cd /proc && grep -q -s -E -e "[)] [^ZX] [0-9]+ $1 " [0-9]*/stat)
}

remaining() {
  for group in $groups; do
    inhabited "$group" && return 0
  done
  [ -n "$(marked)" ]
}

pause() {
  sleep 0.1 2>/dev/null || sleep 1
}

while IFS= read -r line; do
  group=${line#?}
  # One to seven digits, no leading zero, never 1. No system has longer process numbers, and a shell that cuts them to
  # 32 bits would make -1 of some: everybody.
  case $group in
    '' | *[!0-9]* | 0* | 1 | ????????*) continue ;;
  esac
  case $line in
    +*)
      case $groups in
        *" $group "*) ;;
        *) groups="$groups$group " ;;
      esac
      ;;
    -*)
      case $groups in
        *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
      esac
      ;;
  esac
done

remaining || exit 0
send TERM
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  remaining || exit 0
  pause
done
# Several rounds: a process that forks while it is looked for is found the next time.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  send KILL
  pause
  remaining || exit 0
done
exit 1
