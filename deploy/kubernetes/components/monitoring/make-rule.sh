#!/usr/bin/env bash
# Writes deploy/prometheus/rules.yml to standard output as an object for the Prometheus operator. Takes no argument.
# After a change of the rules:
#
#   cd deploy/kubernetes/components/monitoring && ./make-rule.sh >prometheus-rule.yaml
#
# A test compares.
set -euo pipefail
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
