#!/bin/sh
# Checks that documents are written in plain words: textlint with the rules of this folder.
# Arguments are documents, relative to the root of the repository. PROSE_CONFIG is another configuration in this folder.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root/tools/prose"
(
    # Two runs at the same time fetch once.
    flock 9
    [ -x node_modules/.bin/textlint ] || npm ci --silent --no-audit --no-fund --ignore-scripts
) 9<package-lock.json
for name in "$@"; do
    shift
    set -- "$@" "$root/$name"
done
exec node_modules/.bin/textlint --config "${PROSE_CONFIG:-textlintrc.json}" --rulesdir rules --format unix "$@"
