#!/usr/bin/env bash
# Makes a minimal Debian system in a folder, of this host's release and from its package sources.
#
#   tests/deploy/debian.sh FOLDER [PACKAGE ...]       more packages, comma or space separated
#
# Needs root and debootstrap.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; -*) usage >&2; exit 2 ;; esac
[ $# -ge 1 ] || { usage >&2; exit 2; }
folder=$1; shift
sources=/etc/apt/sources.list.d/debian.sources
[ -f "$sources" ] || { echo "debian.sh: needs a Debian host: no $sources" >&2; exit 1; }
release=$(. /etc/os-release; echo "$VERSION_CODENAME")
mirror=$(awk '/^URIs:/ {print $2; exit}' "$sources")

rm -rf --one-file-system "$folder"
mkdir -p "$folder"
debootstrap --variant=minbase ${1:+"--include=$(IFS=,; echo "$*")"} "$release" "$folder" "$mirror" \
  >"$folder.log" 2>&1 || { tail -n 5 "$folder.log" >&2; exit 1; }
rm -f "$folder/etc/apt/sources.list" "$folder"/var/cache/apt/archives/*.deb "$folder"/etc/apt/apt.conf.d/99*
cp "$sources" "$folder/etc/apt/sources.list.d/"
for file in /etc/apt/apt.conf.d/99*; do  # what this host's mirror may need
  [ ! -f "$file" ] || cp "$file" "$folder/etc/apt/apt.conf.d/"
done
