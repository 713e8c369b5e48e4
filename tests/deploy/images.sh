#!/usr/bin/env bash
# Builds the container images from base images made here and tries them as an operator runs them: their
# user, a read-only root, the health check, a demo, SIGTERM. No registry is asked for anything.
# By hand, not in CI: it takes half an hour on two cores, root, and 20 GB below WORK.
#
#   tests/deploy/images.sh [cpu] [gpu] [lock]      default: cpu, and gpu where there is a CUDA toolkit
#
# cpu, gpu   build that image and run it
# lock       makes docker/packages.lock anew
# WORK (default ~/.cache/basebandd-images) keeps the images, the folder of CCACHE_DIR what was compiled. The
# CUDA base image is the Debian one with the toolkit that is in /usr/local/cuda. BUILD_TYPE (default
# Release) and GRPC_PREFIX (a folder in the sources; default none) are handed on.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
work=${WORK:-${XDG_CACHE_HOME:-$HOME/.cache}/basebandd-images}
base=docker.io/library/debian:bookworm-slim     # BASE_IMAGE of docker/Dockerfile
cuda=docker.io/nvidia/cuda:13.0.1-devel-ubuntu24.04
ccache=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
fail() { echo "images.sh: FAILED: $*" >&2; exit 1; }
say() { echo "== $*"; }

todo=("$@")
for part in "${todo[@]}"; do
  case $part in cpu|gpu|lock) ;; *) usage >&2; fail "unknown argument '$part'" ;; esac
done
[ "$(id -u)" = 0 ] || fail "has to be run by root"
[ $# -gt 0 ] || { todo=(cpu); [ ! -x /usr/local/cuda/bin/nvcc ] || todo+=(gpu); }
tools=()
command -v buildah >/dev/null || tools+=(buildah)
command -v debootstrap >/dev/null || tools+=(debootstrap)
[ ${#tools[@]} = 0 ] || { apt-get -qq update; apt-get -qq install -y --no-install-recommends "${tools[@]}" >/dev/null; }
mkdir -p "$work" "$ccache"
. "$top/tests/deploy/container.sh"

buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

make_base() {
  buildah images -q "$base" >/dev/null 2>&1 && return
  say "making $base"
  "$top/tests/deploy/debian.sh" "$work/debian" ccache   # which the build uses where it is
  local container
  container=$(buildah from scratch)
  buildah add -q "$container" "$work/debian" /
  buildah commit -q --rm "$container" "$base"
  rm -rf --one-file-system "$work/debian"
}

make_cuda() {
  buildah images -q "$cuda" >/dev/null 2>&1 && return
  say "making $cuda from $(readlink -f /usr/local/cuda)"
  local container from
  from=$(readlink -f /usr/local/cuda)
  container=$(buildah from --pull-never "$base")
  buildah add -q "$container" "$from" "$from"
  buildah run --isolation chroot "$container" ln -sfn "$from" /usr/local/cuda
  buildah commit -q --rm "$container" "$cuda"
}

build() {  # NAME [BUILD_ARGUMENT ..]
  local name=$1; shift
  say "building $name"
  buildah bud -q --isolation chroot --pull-never --format docker --volume "$ccache:/root/.cache/ccache" \
    --build-arg BUILD_TYPE="${BUILD_TYPE:-Release}" --build-arg GRPC_PREFIX="${GRPC_PREFIX:-}" \
    --build-arg REVISION="$(git -C "$top" rev-parse HEAD)" \
    --build-arg SOURCE_DATE_EPOCH="$(git -C "$top" log -1 --format=%ct)" "$@" \
    -f "$top/docker/Dockerfile" -t "$name" "$top"
}

state_size() {  # NAME
  local container root
  container=$(buildah from --pull-never "$1")
  root=$(buildah mount "$container")
  echo "$1: $(du -sb "$root" | awk '{printf "%.1f MB", $1 / 1e6}')," \
       "$(tar -C "$root" -c . | gzip -6 | wc -c | awk '{printf "%.1f MB", $1 / 1e6}') compressed," \
       "$(find "$root" -type f | wc -l) files," \
       "$(cd "$root" && find . -type f -o -type l | LC_ALL=C sort | tar -c --numeric-owner -T - | sha256sum | cut -c-16) as a hash"
  [ -z "$(find "$root" -name '*sh' -type f -perm /111 -o -name 'apt*' -o -name 'dpkg*' | head -3)" ] \
    || fail "$1 has a shell or a package manager"
  buildah umount "$container" >/dev/null
  buildah rm "$container" >/dev/null
}

# What `docker run --read-only --cap-drop=ALL --tmpfs /tmp --tmpfs /run/basebandd NAME` does, from the
# image's own configuration; buildah's chroot isolation has neither a read-only root nor process 1.
run_image() {  # NAME
  local name=$1 id root log=$work/run.log
  local entrypoint=() health=() environment=() user=
  say "running $name"
  eval "$(buildah inspect --type image "$name" | /usr/bin/python3 -c '
import json, shlex, sys
config = json.load(sys.stdin)["Docker"]["config"]
def shell(name, words): print(name + "=(" + " ".join(map(shlex.quote, words)) + ")")
shell("entrypoint", config["Entrypoint"] + (config["Cmd"] or []))
shell("environment", config["Env"])
test = config["Healthcheck"]["Test"]
assert test[0] == "CMD", test
shell("health", test[1:])
assert config["StopSignal"] == "SIGTERM", config["StopSignal"]
for label in ("version", "revision", "source", "licenses"):
    assert "org.opencontainers.image." + label in config["Labels"], label
print("user=" + shlex.quote(config["User"]))
')"
  [ "$user" = 65532:65532 ] || fail "$name runs as $user"
  id=$(buildah from --pull-never "$name")
  buildah run --isolation chroot "$id" "${entrypoint[0]}" --version
  root=$(buildah mount "$id")
  start_contained "$root" "${user%:*}" "${user#*:}" "$log" "${entrypoint[@]}"
  wait_healthy "$log" inside "${user%:*}" "${user#*:}" "${health[@]}"
  grep -E '^(Uid|CapEff|CapPrm|NoNewPrivs):' "/proc/$first/status"
  awk '$5 == "/" {print "Root:\t" $6}' "/proc/$first/mountinfo"
  awk '$5 == "/" {ro = $6 ~ /(^|,)ro(,|$)/} END {exit !ro}' "/proc/$first/mountinfo" || fail "the root can be written to"
  grep -q '^CapEff:.0*$' "/proc/$first/status" || fail "the server has capabilities"
  inside "${user%:*}" "${user#*:}" "${health[@]}" || fail "the health check fails"
  inside "${user%:*}" "${user#*:}" /usr/local/bin/basebandctl demo "${entrypoint[0]}" || fail "the demo fails"
  stop_contained "$log"
  cat "$log"
  buildah umount "$id" >/dev/null
  buildah rm "$id" >/dev/null
  say "$name served, and ended with exit code 0 on SIGTERM"
}

for what in "${todo[@]}"; do
  make_base
  case $what in
    lock)
      say "making docker/packages.lock"
      container=$(buildah from --pull-never "$base")
      buildah run --isolation chroot --volume "$top:/src" "$container" /src/docker/packages.sh lock \
        >"$work/packages.lock"
      buildah rm "$container" >/dev/null
      grep -v '^ccache=' "$work/packages.lock" >"$top/docker/packages.lock" ;;
    cpu)
      build basebandd:cpu
      state_size basebandd:cpu
      run_image basebandd:cpu ;;
    gpu)
      make_cuda
      build basebandd:gpu --build-arg CUDA_IMAGE="$cuda"
      state_size basebandd:gpu
      run_image basebandd:gpu ;;  # without a GPU it serves on the CPU
    *) sed -n '2,14p' "$0" >&2; exit 2 ;;
  esac
done
echo "images.sh: OK"
