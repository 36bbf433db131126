#!/bin/sh
# Runs `make pytest` as a plain user sees it on a bare Debian 12: a fresh clone, no sudo, and none of the programs that setup.sh would
# install. Tests that need them are skipped, counted and named; nothing may fail. Run as root, it changes to a user without rights.
# It leaves `make lint` out: what that says is the same on every machine. chroot.sh runs it without node.
# The order and the examples of properties are the same in every run.
#   bare.sh [PYTHON]
set -eu

PYTHON=${1:-/usr/bin/python3}
HIDDEN='sudo|doas|apt-get|tshark|dumpcap|tcpdump|node|nodejs|npm|npx|valgrind|xxd|hexdump|editcap|groff|chromium|idl2wrs|pkg-config|gcc'
ROOT=$(cd "$(dirname "$0")/.." && pwd)
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT

mkdir "$HOME/bin"
for directory in /usr/local/bin /usr/bin /bin; do
    for program in "$directory"/*; do
        name=$(basename "$program")
        echo "$name" | grep -qxE "$HIDDEN" || [ -e "$HOME/bin/$name" ] || ln -s "$program" "$HOME/bin/$name"
    done
done
git clone --quiet --depth 1 "file://$ROOT" "$HOME/project"

run='env -i'
if [ "$(id -u)" = 0 ]; then
    chown -R nobody "$HOME"
    run='setpriv --reuid=nobody --regid=nogroup --clear-groups env -i'
fi
# What pip is told by the environment is all that is passed on.
pip=$(env | grep -E '^(PIP_|SSL_CERT_FILE=|REQUESTS_CA_BUNDLE=)' | tr '\n' ' ' || true)
cd "$HOME/project"
# What is new here, and the run before has not shown: programs are missing, the user has no rights, nothing is set in the environment.
# A test can notice a missing program only if it, or what it imports for that, names one; and missing rights only if it asks for them.
# These tests run, and the shortest file of each folder for all else. chroot.sh runs everything. Properties have had all their examples.
names="[\"'(/ ]($HIDDEN)[\"']|(compile|build)\.py|javascript\.cjs|check\.sh|shutil\.which|get(e?uid|pass)|chmod|tests\.(sarif|pyright|consumers)"
tests=$({
    grep -rlE "$names" tests --include='test_*.py'
    find tests -name 'test_*.py' -printf '%h %s %p\n' | sort -k1,1 -k2,2n | awk '$1 != folder { folder = $1; print $3 }'
} | grep -vE '^tests/(golden|faults|test_benchmarks)' | sort -u | tr '\n' ' ')
# shellcheck disable=SC2086  # several words on purpose
$run $pip PCQ_PROPERTIES=0.2 HOME="$HOME" PATH="$HOME/bin" LANG=C.UTF-8 make pytest PYTHON="$PYTHON" PYTEST_ARGS="--randomly-seed=1 --hypothesis-seed=1 $tests" </dev/null
