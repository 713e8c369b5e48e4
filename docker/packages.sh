#!/usr/bin/env bash
# The packages of the image's build stage, at the versions of docker/packages.lock. Part of
# docker/Dockerfile; changes the system it runs on, which is a fresh container of the base image.
#
#   docker/packages.sh install prefer|require|off    installs what deploy/packages.sh build names:
#       prefer: as locked while the mirror has all those versions, else the newest, and says so;
#       require: as locked or not at all; off: the newest
#   docker/packages.sh lock > docker/packages.lock   installs the newest and prints the lock:
#       every package of the system with its version
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
show() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
usage() { show >&2; exit 2; }
case ${1:-} in -h|--help) show; exit 0 ;; esac
apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends)

newest() {
  "${apt[@]}" update
  "${apt[@]}" upgrade >/dev/null
  "$top/deploy/packages.sh" build >/dev/null
  "${apt[@]}" install ca-certificates >/dev/null  # goes into the image, for basebandctl --tls
}

as_locked() {
  local architecture locked
  architecture=$(dpkg --print-architecture)
  grep -qx "# architecture: $architecture" "$top/docker/packages.lock" || {
    echo "packages.sh: docker/packages.lock is for another architecture than $architecture" >&2
    return 1
  }
  mapfile -t locked < <(grep -v '^#' "$top/docker/packages.lock")
  "${apt[@]}" update || return 1
  # Says which versions are missing, if any, before anything is changed.
  "${apt[@]}" install --simulate --allow-downgrades "${locked[@]}" >/dev/null || return 1
  "${apt[@]}" install --allow-downgrades "${locked[@]}" >/dev/null || return 1
  local lacking
  lacking=$("$top/deploy/packages.sh" build) || return 1
  [ -z "$lacking" ] || { echo "packages.sh: not in docker/packages.lock: $lacking" >&2; return 1; }
}

case ${1:-}:${2:-} in
  install:off) newest ;;
  install:require)
    as_locked || { echo "packages.sh: FAILED: make a new lock, or build with LOCK=prefer or off" >&2; exit 1; } ;;
  install:prefer)
    as_locked || { echo "packages.sh: WARNING: not as in docker/packages.lock: the newest versions" >&2; newest; } ;;
  lock:)
    newest
    echo "# Made by docker/packages.sh lock in the base image: every package of the build stage."
    echo "# architecture: $(dpkg --print-architecture)"
    dpkg-query -W -f '${db:Status-Abbrev}${Package}=${Version}\n' | sed -n 's/^ii *//p' ;;
  *) usage ;;
esac
