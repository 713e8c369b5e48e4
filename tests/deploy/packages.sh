#!/usr/bin/env bash
# Builds the .debs and the .tar.gz and tries them on fresh minimal Debian systems: the server's .deb is
# installed without and with systemd and its service runs under the unit file's settings, DPDK finds the
# driver of another, pkg-config the C library of the third, a program is compiled with the C++ library of
# the fourth, a flow graph of GNU Radio runs with the fifth, Python finds the sixth; the .tar.gz runs from a
# folder of its own where none of our packages is. By hand, not in CI: root, ten minutes, 5 GB below WORK.
#
#   tests/deploy/packages.sh [CMAKE_OPTION ...]
#
# Real systemd is process 1 of the system with the .deb (systemd.sh). BUILD_DIR (default build/package)
# is where it builds, WORK (default ~/.cache/basebandd-packages) has the systems.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$top/build/package}
work=${WORK:-${XDG_CACHE_HOME:-$HOME/.cache}/basebandd-packages}
fail() { echo "packages.sh: FAILED: $*" >&2; exit 1; }
say() { echo "== $*"; }
for option in "$@"; do
  case $option in -[DUGC]?*) ;; *) usage >&2; fail "unknown argument '$option'" ;; esac
done
[ "$(id -u)" = 0 ] || fail "has to be run by root"
command -v debootstrap >/dev/null || { apt-get -qq update; apt-get -qq install -y debootstrap >/dev/null; }
. "$top/tests/deploy/container.sh"

say "building the packages in $build"
rm -rf "$build/packages"
"$top/deploy/packages.sh" bbdev gnuradio
"$top/deploy/build.sh" packaging "$build" -DBASEBAND_TESTS=OFF "$@" -- package
deb=$(echo "$build"/packages/basebandd_*.deb) archive=$(echo "$build"/packages/*.tar.gz)
ls -l "$deb" "$archive" | awk '{printf "%.1f MB %s\n", $5 / 1e6, $9}'
"$build/server/basebandd" --version

mkdir -p "$work"
[ -f "$work/debian.tar" ] || {
  say "making a Debian system"
  "$top/tests/deploy/debian.sh" "$work/debian"
  tar -C "$work/debian" -cf "$work/debian.tar.part" . && mv "$work/debian.tar.part" "$work/debian.tar"
  rm -rf --one-file-system "$work/debian"
}
fresh() {  # FOLDER
  rm -rf --one-file-system "$1"
  mkdir -p "$1"
  tar -C "$1" -xf "$work/debian.tar"
  cp /etc/resolv.conf /etc/hosts "$1/etc/"
  chroot "$1" apt-get -qq update
}
in_system() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$work/deb" "$@"; }

# ---- .deb
say "installing $(basename "$deb") where there is no systemd"
fresh "$work/deb"
cp "$deb" "$work/deb/basebandd.deb"
in_system apt-get -qq install -y --no-install-recommends /basebandd.deb >"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "the .deb does not install"; }
in_system getent passwd basebandd || fail "no user basebandd"
in_system basebandd --check-config --config=/etc/basebandd/basebandd.conf >/dev/null || fail "the settings are wrong"
say "installing the driver for DPDK and the C library"
cp "$build"/packages/basebandd-bbdev_*.deb "$work/deb/driver.deb"
cp "$build"/packages/libbasebandd-dev_*.deb "$work/deb/library.deb"
in_system apt-get -qq install -y --no-install-recommends /driver.deb /library.deb dpdk-dev pkg-config >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "the driver or the library does not install"; }
in_system pkg-config --exists basebandd || fail "pkg-config does not find the C library"
# DPDK looks for processors in /sys.
found=$(unshare --mount bash -c 'mount -t proc proc "$1/proc" && mount -t sysfs -o ro sysfs "$1/sys" &&
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" dpdk-test-bbdev --no-huge --no-pci --no-telemetry -m 64 \
    --vdev=baseband_offload0 -- -c validation 2>&1' driver "$work/deb" || true)
[[ $found == *"no server at /run/basebandd/shm.sock"* ]] || { echo "$found" >&2; fail "DPDK does not find the driver"; }
say "compiling a program with the C++ library"
cp "$build"/packages/libbaseband-offload-dev_*.deb "$work/deb/client-dev.deb"
cp "$build"/packages/libbaseband-offload[0-9]*_*.deb "$work/deb/client.deb"
cp -r "$top/tests/deploy/installed/outside" "$work/deb/outside"
in_system apt-get -qq install -y --no-install-recommends /client.deb /client-dev.deb g++ make cmake >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "the C++ library does not install"; }
[ ! -e "$work/deb/usr/include/grpcpp" ] || fail "gRPC's headers are there, which the C++ library must not need"
in_system pkg-config --cflags --libs baseband-offload >/dev/null || fail "pkg-config does not find the C++ library"
in_system cmake -S /outside -B /outside/build >>"$work/install.log" 2>&1 \
  && in_system cmake --build /outside/build >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "no program is compiled with the C++ library"; }
in_system basebandd --device=cpu --listen=unix:/server.sock --metrics-listen=off >>"$work/install.log" 2>&1 &
server=$!
in_system basebandctl --target=unix:/server.sock --wait --timeout=60s health >/dev/null || fail "no server"
[ "$(in_system /outside/build/round_trip unix:/server.sock)" = "ten bytes!" ] || fail "the program does not run"
say "running it where nothing but the C++ library is"
fresh "$work/run"
cp "$work/deb/client.deb" "$work/deb/outside/build/round_trip" "$work/run"
ln "$work/deb/server.sock" "$work/run/server.sock"
chroot "$work/run" apt-get -qq install -y --no-install-recommends /client.deb >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "the C++ library does not install alone"; }
! compgen -G "$work/run/usr/lib/*/libgrpc++.so" >/dev/null || fail "it brings what only compilers need"
[ "$(chroot "$work/run" /round_trip unix:/server.sock)" = "ten bytes!" ] || fail "the program does not run there"
rm -rf --one-file-system "$work/run"
say "running a flow graph of GNU Radio"
cp "$build"/packages/gr-baseband-offload_*.deb "$work/deb/gnuradio.deb"
cp "$top/tests/gnuradio/example.py" "$work/deb/flow_graph.py"
in_system apt-get -qq install -y --no-install-recommends /gnuradio.deb >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "the module for GNU Radio does not install"; }
[ "$(in_system python3 /flow_graph.py unix:/server.sock)" = "0 of 144000 bytes are not as sent" ] \
  || fail "a flow graph does not run"
in_system grcc -o /tmp /usr/share/gnuradio/examples/baseband_offload/wideband_receiver.grc >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "GNU Radio Companion does not know the blocks"; }
kill "$server"
wait "$server" || true
say "installing the Python package"
cp "$build"/packages/python3-baseband-offload_*.deb "$work/deb/python.deb"
in_system apt-get -qq install -y --no-install-recommends /python.deb >>"$work/install.log" 2>&1 \
  || { tail "$work/install.log" >&2; fail "the Python package does not install"; }
in_system python3 -c "import baseband_offload as bo; assert bo.NrCode(1, 384).k == 8448" || fail "Python does not find it"
say "removing it, installing systemd, and it again"
in_system dpkg --purge basebandd >/dev/null 2>&1 || fail "the .deb does not purge"
[ ! -e "$work/deb/etc/basebandd" ] || fail "/etc/basebandd is left after a purge"
in_system userdel basebandd
in_system apt-get -qq install -y --no-install-recommends systemd systemd-sysv dbus >>"$work/install.log" 2>&1
in_system apt-get -qq install -y --no-install-recommends /basebandd.deb >>"$work/install.log" 2>&1
in_system getent passwd basebandd || fail "no user basebandd"
in_system systemd-analyze verify /usr/lib/systemd/system/basebandd.service || fail "the unit is wrong"
in_system systemd-analyze security --offline=true basebandd.service | tail -n 1

"$top/tests/deploy/systemd.sh" "$work/deb" || fail "the service does not run"

# ---- .tar.gz
say "unpacking $(basename "$archive") where nothing of ours is"
fresh "$work/tar"
mkdir -p "$work/tar/somewhere/else" "$work/tar/run/basebandd"
tar -C "$work/tar/somewhere/else" --strip-components=1 -xzf "$archive"
du -sb "$work/tar/somewhere/else" | awk '{printf "%.1f MB unpacked\n", $1 / 1e6}'
environment=(PATH=/usr/bin:/bin)
log=$work/tar.log
start_contained "$work/tar" 65534 65534 "$log" /somewhere/else/bin/basebandd
wait_healthy "$log" inside 65534 65534 /somewhere/else/bin/basebandctl --timeout=1s health
inside 65534 65534 /somewhere/else/bin/basebandctl demo /somewhere/else/bin/basebandd || fail "the demo fails"
! compgen -G "$work/tar/somewhere/else/lib/libc.so.*" >/dev/null || fail "glibc is carried"
stop_contained "$log"
cat "$log"
rm -rf --one-file-system "$work/deb" "$work/tar"
echo "packages.sh: OK"
