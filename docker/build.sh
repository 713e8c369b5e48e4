#!/usr/bin/env bash
# Builds basebandd and its clients' programs and lays out the image's file system. Part of docker/Dockerfile.
#
#   docker/build.sh IMAGE      the new root
#
# With nvcc in /usr/local/cuda the GPU is built in. BUILD_TYPE, CUDA_ARCHITECTURES, GRPC_PREFIX and
# SOURCE_DATE_EPOCH: see the Dockerfile. If the base image has ccache, it is used.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; -*) usage >&2; exit 2 ;; esac
[ $# = 1 ] || { usage >&2; exit 2; }
image=$1
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/image
export LANG=C.UTF-8 CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$top

cuda=OFF
[ ! -x /usr/local/cuda/bin/nvcc ] || cuda=ON
options=(-DBASEBAND_TESTS=OFF -DBASEBAND_UNITY=ON "-DBASEBAND_CUDA=$cuda" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE:-Release}")
[ -z "${CUDA_ARCHITECTURES:-}" ] || options+=("-DCMAKE_CUDA_ARCHITECTURES=$CUDA_ARCHITECTURES")
if [ -n "${GRPC_PREFIX:-}" ]; then
  # Misspelt, it would be the packaged one that is built in.
  [ -d "$top/$GRPC_PREFIX/include/grpcpp" ] || { echo "build.sh: there is no gRPC in '$GRPC_PREFIX'" >&2; exit 1; }
  options+=("-DCMAKE_PREFIX_PATH=$top/$GRPC_PREFIX")
fi
"$top/deploy/build.sh" build "$build" "${options[@]}" -- basebandd basebandctl basebandd-ldpc-tool

# Programs with all libraries but glibc, as in the .tar.gz package.
mkdir -p "$image"
cmake --install "$build" --component portable --strip --prefix "$image/usr/local" >/dev/null

# glibc: what these files need and is not among them, and the loader, whose path is in the programs.
libraries=$(gcc -print-multiarch)
loader=$(readelf -l "$image/usr/local/bin/basebandd" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
mkdir -p "$image/usr/lib/$libraries" "$image/usr$(dirname "$loader")"
ln -s usr/lib "$image/lib"
[ -e "$image$(dirname "$loader")" ] || ln -s "usr$(dirname "$loader")" "$image$(dirname "$loader")"
find "$image/usr/local/bin" "$image/usr/local/lib" -type f -exec ldd {} + 2>/dev/null \
  | awk '$3 ~ "^/(usr/)?lib/" {print $3}' | sort -u \
  | while read -r file; do
      [ -e "$image/usr/local/lib/$(basename "$file")" ] || cp -L "$file" "$image/usr/lib/$libraries/"
    done
cp -L "$loader" "$image/usr$loader"

# Versions and licences of the packages these files are from.
while read -r file; do
  [ -e "/usr/lib/$libraries/$(basename "$file")" ] || continue  # cuFFT and NVRTC: from CUDA_IMAGE
  dpkg-query -S "*/$(basename "$file")"
done < <(find "$image" -name '*.so*' -type f) | sed 's/: .*//; s/, /\n/g' | sort -u \
  | while read -r package; do
      mkdir -p "$image/usr/share/doc/${package%%:*}"
      cp "/usr/share/doc/${package%%:*}/copyright" "$image/usr/share/doc/${package%%:*}/"
      dpkg-query -W -f '${Package}=${Version}\n' "$package"
    done | sort -u >"$image/usr/local/share/baseband/packages.txt"

mkdir -p "$image"/{dev,etc/ssl/certs,proc,run/basebandd,sys,tmp,usr/local/nvidia}
chmod 1777 "$image/tmp"
echo 'root:x:0:0:root:/nonexistent:/nonexistent
basebandd:x:65532:65532:basebandd:/nonexistent:/nonexistent' >"$image/etc/passwd"
printf 'root:x:0:\nbasebandd:x:65532:\n' >"$image/etc/group"
echo 'hosts: files dns' >"$image/etc/nsswitch.conf"
cp /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
# By debian_version the NVIDIA runtime tells where libraries belong; it brings the cache up to date.
cp /etc/debian_version "$image/etc/"
cp -L /etc/os-release "$image/etc/"
cp -r /etc/ld.so.conf /etc/ld.so.conf.d "$image/etc/"
ldconfig -r "$image"
rm -rf "${image:?}/var"

find "$image" -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-0}" {} +
