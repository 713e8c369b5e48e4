#!/bin/sh
# Copies what the build needs of this image's CUDA toolkit, a tenth of it: compilers, headers, the static
# run-time library, cuFFT and NVRTC. Part of docker/Dockerfile; runs in CUDA_IMAGE.
#
#   toolkit.sh FOLDER      the copy; empty where the image has no toolkit
set -eu
mkdir -p "$1"
[ -d /usr/local/cuda ] || exit 0
from=$(readlink -f /usr/local/cuda)
[ -x "$from/bin/nvcc" ] || { echo "toolkit.sh: CUDA_IMAGE has no nvcc: take a 'devel' image" >&2; exit 1; }
cd "$from"
find . \( -path './bin/*' -o -path './nvvm/*' -o -path '*/include/*' -o -name include -o -name 'lib*' -type l \
          -o -name 'libcudart*' -o -name 'libcudadevrt.a' -o -name 'libculibos.a' \
          -o -name 'libcufft.so*' -o -name 'libnvrtc.so*' -o -name 'libnvrtc-builtins.so*' \) \
  -print | tar -c --no-recursion -T - | tar -x -C "$1"
