#!/bin/sh
# Sets up what a make target needs, says on standard error what it does, and in one sentence what it could not do.
#   setup.sh package   a virtual environment with the package in it
#   setup.sh tests     also the developers' tools, tshark and its headers, tcpdump, valgrind, and node, with which ksy/compile.py fetches its compiler
# Debian packages are installed by root or where sudo asks for no password. With CI set, whatever is missing is an error.
set -eu

PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}
CI=${CI:-}
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    else return 1
    fi
}

# Installs Debian packages. The package lists of a fresh machine are empty or old, so a failure is tried again with new ones.
debian() {
    command -v apt-get >/dev/null && as_root true || return 1
    say "installing the Debian packages $*"
    as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 </dev/null ||
        { as_root apt-get update -qq >&2 && as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null </dev/null; }
}

lacking() {
    [ -z "$CI" ] || die "$1"
    say "$1"
}

# Without root, Debian's pip can still be unpacked from its package and run once, to install a pip into the environment.
unpack_pip() {
    command -v apt-get >/dev/null || return 1
    dir=$(mktemp -d)
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
    options="-qq -o Dir::State::Lists=$dir/lists -o Dir::Cache=$dir/cache"
    # shellcheck disable=SC2086  # several words on purpose
    (cd "$dir" && apt-get $options update && apt-get $options download python3-pip-whl && dpkg -x ./*.deb .) >/dev/null 2>&1 &&
        "$PYTHON" -m venv --clear --without-pip "$VENV" &&
        "$VENV/bin/python" "$(echo "$dir"/usr/share/python-wheels/pip-*.whl)/pip" install --quiet pip &&
        rm -rf "$dir"
}

# Debian keeps the part of venv that brings pip in a package of its own, python3-venv.
make_venv() {
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        die "Python 3.11 or later is needed, and '$PYTHON' is not one: install it, or name one with 'make PYTHON=...'."
    say "making a virtual environment in $VENV"
    if "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || debian python3-venv; then
        "$PYTHON" -m venv --clear "$VENV"
    elif "$PYTHON" -m pip --version >/dev/null 2>&1; then
        "$PYTHON" -m venv --clear --without-pip "$VENV"
        "$PYTHON" -m pip --python "$VENV/bin/python" install --quiet pip
    elif ! unpack_pip; then
        die "'$PYTHON -m venv' needs the Debian package python3-venv: as root, 'apt-get install python3-venv', then run this again."
    fi
}

# The programs that tests need, for a job that is given: how to see that they are there, their Debian packages, and what is lost.
each_tool() {
    "$1" 'command -v tshark' tshark 'the tests in tests/test_against_tshark.py will be skipped'
    # idl2wrs is in wireshark-dev.
    "$1" 'command -v idl2wrs && command -v pkg-config && command -v gcc && command -v make' \
        'wireshark-dev pkg-config gcc libc6-dev make' 'the tests in tests/test_wireshark_in_c.py will be skipped'
    "$1" 'command -v valgrind' valgrind 'instructions are not counted in tests/test_benchmarks.py'
    "$1" 'command -v tcpdump' tcpdump 'tests/test_benchmarks.py will be skipped'
    "$1" 'command -v xxd && command -v hexdump' 'xxd bsdextrautils' 'their dumps are not read in tests/screens/views/test_decode.py'
    "$1" 'command -v groff' groff-base 'the manual page is not formatted in tests/commands/test_help.py'
    "$1" 'command -v chromium' chromium 'the page of report is not looked at in tests/page/test_browser.py'
    "$1" 'command -v smbd && command -v rpcclient && command -v nmap && command -v ip && command -v kadmin.local &&
        command -v krb5kdc && command -v kinit && [ -d /usr/lib/python3/dist-packages/samba ]' \
        'samba smbclient samba-common-bin python3-samba nmap iproute2 krb5-kdc krb5-admin-server krb5-user' 'the rig cannot run'
    "$1" 'command -v node && command -v npm' 'nodejs npm' 'ksy/ is not compiled anew and compared'
}

name_missing() { eval "$1" >/dev/null || echo "$2"; }

demand() {
    eval "$1" >/dev/null && return
    # shellcheck disable=SC2086  # several words on purpose
    debian $2 || lacking "$2 cannot be installed from here: $3 ('apt-get install $2' as root)."
}

# Whether what $1 stands for was installed after pyproject.toml and the constraints were last changed.
installed() {
    [ "$VENV/.installed-$1" -nt pyproject.toml ] && [ "$VENV/.installed-$1" -nt constraints.txt ] && [ "$VENV/.installed-$1" -nt requirements.lock ]
}

# `pip install` takes seconds even where nothing is to do, so it runs only where something is.
install() {
    stamp=$VENV/.installed-$1
    ! installed "$1" || return 0
    shift
    say "installing into $VENV (some minutes the first time)"
    isolation=
    if [ "$stamp" = "$VENV/.installed-tests" ] &&
        "$VENV/bin/python" -m pip install --quiet --no-compile --require-hashes --requirement requirements.lock; then
        # Just these files, by their hashes; what builds the project is among them, and pip finds all there but the project itself.
        isolation=--no-build-isolation
    else
        [ "$stamp" != "$VENV/.installed-tests" ] ||
            lacking "pip could not install requirements.lock; what it said is above. The versions of constraints.txt are taken without hashes."
        # Groups of pyproject.toml need pip 25.1; Debian 12 has 23.0.
        "$VENV/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
    fi
    # shellcheck disable=SC2086  # no word or one
    "$VENV/bin/python" -m pip install --quiet $isolation --constraint constraints.txt "$@" || die "pip could not install the packages; what it said is above."
    touch "$stamp"
}

[ -x "$VENV/bin/python" ] && "$VENV/bin/python" -c 'import pip' 2>/dev/null || make_venv

case ${1:-} in
package)
    installed tests || install package --editable .
    ;;
tests)
    # Debian packages are unpacked while pip installs.
    missing=$(each_tool name_missing)
    # shellcheck disable=SC2086  # several words on purpose
    [ -z "$missing" ] || { debian $missing || true; } &
    unpacking=$!
    trap wait EXIT
    install tests --editable '.[tshark,notebook,probe,browse,cluster]' --group dev
    wait "$unpacking"
    each_tool demand
    ;;
*)
    die "usage: .ci/setup.sh package|tests"
    ;;
esac
