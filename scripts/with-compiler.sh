#!/bin/sh
# Runs a command that needs the compiler of ksy/; where it could not be installed, says so instead (and fails in CI).
set -eu

if command -v node >/dev/null && [ -d ksy/node_modules/kaitai-struct-compiler ]; then
    exec "$@"
fi
echo "NOT RUN, the compiler of ksy/ is missing: $*" >&2
[ -z "${CI:-}" ]
