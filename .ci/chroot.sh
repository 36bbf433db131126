#!/bin/sh
# Runs `make test` where there is nothing but a Debian 12 with python3 and make: in a chroot that debootstrap makes, from an archive of the
# commit, as a user without rights. What bare.sh hides is not there at all. Needs root, debootstrap, unshare and a network.
#   chroot.sh [MIRROR]      PYTEST_ARGS goes to pytest
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bare=$(mktemp -d)
trap 'rm -rf --one-file-system "$bare" "$bare.log"' EXIT
chmod 755 "$bare"

debootstrap --variant=minbase --include=ca-certificates,make,python3 bookworm "$bare" "$@" >"$bare.log" ||
    { tail -n 20 "$bare.log" >&2; exit 1; }
# The network as it is here: names, and the authorities that are trusted.
cp -L /etc/resolv.conf /etc/hosts "$bare/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$bare/etc/ssl/certs/"
chroot "$bare" useradd --home-dir /srv/plain --create-home --shell /bin/sh plain
git -C "$root" archive --prefix=project/ HEAD | tar --extract --directory="$bare/srv/plain"
chroot "$bare" chown -R plain: /srv/plain
echo "chroot: $(chroot "$bare" dpkg-query --show | wc -l) Debian packages, $(chroot "$bare" python3 --version), no git, no pip, no sudo"

# What pip is told by the environment is all that is passed on. Mounts and processes end with the command.
pip=$(env | grep -E '^(PIP_|SSL_CERT_FILE=|REQUESTS_CA_BUNDLE=)' | tr '\n' ' ' || true)
# shellcheck disable=SC2016,SC2086  # expanded inside; several words on purpose
unshare --mount --pid --fork sh -euc '
    bare=$1
    shift
    mount -t proc proc "$bare/proc"
    mount --rbind /dev "$bare/dev"
    exec chroot --userspec=plain:plain "$bare" env -i "$@" make -C /srv/plain/project test
' chroot.sh "$bare" $pip HOME=/srv/plain PATH=/usr/bin:/bin LANG=C.UTF-8 PYTEST_ARGS="--randomly-seed=1 ${PYTEST_ARGS:-}" </dev/null
