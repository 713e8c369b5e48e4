#!/usr/bin/env bash
# Boots a system that lies in a folder, systemd as its process 1 in namespaces of its own, and tries the
# service basebandd as its unit file has it: enabled, started, healthy, a demo, upgraded, killed and back,
# stopped with exit code 0, not tried again with wrong settings.
#
#   tests/deploy/systemd.sh FOLDER        a Debian system with systemd and /basebandd.deb, which is installed
#
# Needs root and a cgroup2 hierarchy. No network but loopback inside.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; -*) usage >&2; exit 2 ;; esac
[ $# = 1 ] || { usage >&2; exit 2; }
folder=$1 log=$1.boot.log
fail() { echo "systemd.sh: FAILED: $*" >&2; tail -n 20 "$log" >&2; exit 1; }
hierarchy=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
[ -n "$hierarchy" ] || { echo "systemd.sh: this kernel has no cgroup2 mounted" >&2; exit 1; }

group=$hierarchy/basebandd-test-$$
mkdir "$group"
boot() {
  echo "$BASHPID" >"$group/cgroup.procs"
  exec unshare --mount --pid --ipc --uts --net --cgroup --fork --kill-child=KILL bash -c '
    set -euo pipefail
    mount --make-rprivate /
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys"
    mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
    mount -t tmpfs -o mode=755 tmpfs "$1/dev"
    for name in null zero full random urandom tty; do
      touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"
    done
    mkdir "$1/dev/pts" "$1/dev/shm"
    mount -t tmpfs tmpfs "$1/run"
    mount -t tmpfs tmpfs "$1/tmp"
    exec env -i PATH=/usr/sbin:/usr/bin container=other \
      chroot "$1" /lib/systemd/systemd --log-target=console multi-user.target' boot "$folder"
}
boot >"$log" 2>&1 &
machine=$!
first=
shut_down() {
  [ -z "$first" ] || kill -KILL "$first" 2>/dev/null || true
  wait "$machine" 2>/dev/null || true
  find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
}
trap shut_down EXIT

inside() {
  nsenter --target "$first" --mount --pid --ipc --uts --net --cgroup --root --wd \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
# until SECONDS WHAT COMMAND ..: tries every 2 s.
until_true() {
  local seconds=$1 what=$2; shift 2
  for ((i = 0; i < seconds; i += 2)); do
    ! "$@" >/dev/null 2>&1 || return 0
    sleep 2
  done
  inside journalctl --no-pager -u basebandd >&2 || true
  fail "after $seconds s: not $what"
}
property() { inside systemctl show basebandd --value -p "$1"; }
process_1() { first=$(cat "/proc/$machine/task/$machine/children") && first=${first%% *} && [ -n "$first" ]; }
is_back() { [ "$(property ActiveState)" = active ] && [ "$(property MainPID)" != "$1" ]; }

until_true 60 "started" process_1
until_true 120 "booted" inside systemctl is-active multi-user.target
inside systemctl --version | head -n 1

inside systemctl enable --now basebandd 2>&1 || { inside journalctl --no-pager -u basebandd >&2; fail "the service does not start"; }
inside systemctl --no-pager status basebandd | sed -n '1,12p'
[ "$(property Type)" = notify ] || fail "the unit is of Type $(property Type)"
main=$(property MainPID)
inside grep -E '^(Uid|Gid|CapEff|NoNewPrivs|Seccomp):' "/proc/$main/status"
inside grep -E '^Max (open files|locked memory)' "/proc/$main/limits"
inside ls -ld /run/basebandd /run/basebandd/basebandd.sock
inside basebandctl --target=unix:/run/basebandd/basebandd.sock --timeout=5s health
inside basebandctl demo /usr/bin/basebandctl || fail "the demo fails"

echo "== upgraded, the new one runs"
inside env DEBIAN_FRONTEND=noninteractive dpkg -i /basebandd.deb
until_true 60 "the new one" is_back "$main"
main=$(property MainPID)

echo "== killed, it comes back"
inside systemctl kill --kill-who=main --signal=KILL basebandd
until_true 60 "started again" is_back "$main"
inside basebandctl --timeout=60s --wait health
[ "$(property NRestarts)" = 1 ] || fail "it was started again $(property NRestarts) times"

echo "== stopped, it drains and ends with 0"
inside systemctl stop basebandd
[ "$(property ExecMainStatus)/$(property Result)/$(property ActiveState)" = 0/success/inactive ] \
  || fail "it ended with $(property ExecMainStatus), $(property Result)"
inside journalctl --no-pager -o cat -u basebandd | grep -E 'drain' | tail -n 2

echo "== with wrong settings it is not tried again"
inside sh -c 'echo "BASEBANDD_LANES=0" >/etc/basebandd/basebandd.env'
inside systemctl start basebandd 2>/dev/null || true
sleep 5  # more than RestartSec
[ "$(property ExecMainStatus)/$(property ActiveState)/$(property NRestarts)" = 1/failed/0 ] \
  || fail "with wrong settings: $(property ExecMainStatus), $(property ActiveState), $(property NRestarts) restarts"
inside journalctl --no-pager -o cat -u basebandd | grep -F LANES | tail -n 1
echo "systemd.sh: OK"
