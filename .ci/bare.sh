#!/bin/sh
# Runs `make test` as a plain user sees it on a bare Debian 12: a fresh clone, no sudo, and none of the programs that setup.sh would
# install. Tests that need them are skipped, counted and named; nothing may fail. Run as root, it changes to a user without rights.
# The order and the examples of properties are the same in every run.
#   bare.sh [PYTHON]
set -eu

PYTHON=${1:-/usr/bin/python3}
HIDDEN='sudo|doas|apt-get|tshark|dumpcap|tcpdump|node|nodejs|npm|npx|valgrind|xxd|hexdump|editcap|groff'
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
# Only a test that starts programs can notice that one is missing: by itself, or by what it imports for that. The others are the same
# here and have run before (chroot.sh runs them all); properties have had all their examples.
tests=$(grep -rlE 'mark\.needs|subprocess|shutil\.which|tests\.(sarif|pyright|consumers)' tests --include='test_*.py' | grep -vE '^tests/(golden|faults|test_benchmarks)' | tr '\n' ' ')
# shellcheck disable=SC2086  # several words on purpose
$run $pip PCQ_PROPERTIES=0.2 HOME="$HOME" PATH="$HOME/bin" LANG=C.UTF-8 make test PYTHON="$PYTHON" PYTEST_ARGS="--randomly-seed=1 --hypothesis-seed=1 $tests" </dev/null
