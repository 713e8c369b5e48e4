# shellcheck shell=bash
# Runs a file system as a container with the means of util-linux alone. Sourced by the scripts beside it.

# start_contained ROOT UID GID LOG COMMAND [ARG ..]: in namespaces of its own (mounts, processes, network with
# loopback alone, IPC, host name), ROOT read-only with tmpfs in /tmp and /run/basebandd, as UID:GID
# without capabilities and without a way to new ones; COMMAND is process 1. Environment: that of the caller's
# array `environment`. Sets `container` to the process to wait for and `first` to process 1 seen from here.
start_contained() {
  local root=$1 uid=$2 gid=$3 log=$4; shift 4
  unshare --mount --pid --net --ipc --uts --fork --kill-child=KILL bash -c '
    set -euo pipefail
    root=$1 uid=$2 gid=$3; shift 3
    /usr/bin/python3 - <<END
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
END
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -o remount,bind,ro,nosuid "$root"
    mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
    mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
    for name in null zero full random urandom; do
      touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"
    done
    mount -t tmpfs -o nosuid,nodev,noexec tmpfs "$root/tmp"
    mount -t tmpfs -o "nosuid,nodev,noexec,uid=$uid,gid=$gid,mode=755" tmpfs "$root/run/basebandd"
    environment=()
    while [ "$1" != -- ]; do environment+=("$1"); shift; done
    shift
    exec env -i "${environment[@]}" \
      "$(command -v setpriv)" --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid --inh-caps=-all \
      "$(command -v chroot)" --userspec="$uid:$gid" --groups= "$root" "$@"
  ' contained "$root" "$uid" "$gid" "${environment[@]}" -- "$@" >"$log" 2>&1 &
  container=$!
  first=
  for ((i = 0; i < 50; ++i)); do
    first=$(cat "/proc/$container/task/$container/children" 2>/dev/null || true)
    first=${first%% *}
    [ -z "$first" ] || break
    sleep 0.2
  done
  [ -n "$first" ] || fail "the container did not start: $(cat "$log")"
}

# inside UID GID COMMAND [ARG ..]: a command in the container, as `docker exec` has it.
inside() {
  local uid=$1 gid=$2; shift 2
  env -i "${environment[@]}" "$(command -v nsenter)" --target "$first" --mount --pid --net --ipc --uts --root --wd \
    --setuid "$uid" --setgid "$gid" -- "$@"
}

# wait_healthy LOG COMMAND [ARG ..]: until the health check says 0, for at most 120 s.
wait_healthy() {
  local log=$1; shift
  for ((i = 0; i < 60; ++i)); do
    kill -0 "$container" 2>/dev/null || { cat "$log" >&2; fail "the server has ended"; }
    ! "$@" >/dev/null 2>&1 || return 0
    sleep 2
  done
  cat "$log" >&2
  fail "not healthy after 120 s"
}

# stop_contained LOG: SIGTERM, as `docker stop`; the server has to end with exit code 0.
stop_contained() {
  local status=0
  kill -TERM "$first"
  wait "$container" || status=$?
  [ "$status" = 0 ] || { cat "$1" >&2; fail "the server ended with exit code $status"; }
}
