#!/bin/sh
# Runs a command that needs node and npm. Where they are missing, it says so instead, and fails in CI.
set -eu

if command -v node >/dev/null && command -v npm >/dev/null; then
    exec "$@"
fi
echo "NOT RUN, node and npm are missing: $*" >&2
[ -z "${CI:-}" ]
