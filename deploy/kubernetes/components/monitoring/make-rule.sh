#!/usr/bin/env bash
# Writes deploy/prometheus/rules.yml to standard output as an object for the Prometheus operator. Takes no argument.
# After a change of the rules:
#
#   cd deploy/kubernetes/components/monitoring && ./make-rule.sh >prometheus-rule.yaml
#
# A test compares.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case $*:$# in -h:1|--help:1) usage; exit 0 ;; :0) ;; *) usage >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
cat <<'END'
# Written by make-rule.sh from deploy/prometheus/rules.yml: change that file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: basebandd
  labels:
    app.kubernetes.io/name: basebandd
spec:
END
sed 's/^\(.\)/  \1/' "$here/../../../prometheus/rules.yml"
