#!/bin/sh
# Builds wheel and source distribution twice, in two places and at two times, and compares them byte by byte; then installs the wheel in
# an environment of its own and reads a capture with it, outside the checkout. PYTHON names the interpreter (python3). With a folder as
# argument they are left there, with a list of the libraries that they were tried with (CycloneDX).
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-python3}
kept=${1:+$(mkdir -p "$1" && cd "$1" && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/builder"
"$work/builder/bin/python" -m pip install --quiet --disable-pip-version-check 'hatchling>=1.25'
# Times inside archives are those of the commit, whenever they are built.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)
export SOURCE_DATE_EPOCH
for place in one two/deeper; do
    mkdir -p "$work/$place"
    git ls-files -z | tar --create --null --files-from=- --file=- | tar --extract --touch --directory="$work/$place"
    (cd "$work/$place" && umask "$([ "$place" = one ] && echo 022 || echo 077)" && "$work/builder/bin/python" -m hatchling build --directory "$work/out/$place" >/dev/null)
done
(cd "$work/out/one" && sha256sum ./*) >"$work/one.sums"
(cd "$work/out/two/deeper" && sha256sum ./*) >"$work/two.sums"
cmp "$work/one.sums" "$work/two.sums" || { echo 'package: two builds of the same commit differ' >&2; exit 1; }
cat "$work/one.sums"

"$python" -m venv "$work/user"
"$work/user/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$work"/out/one/*.whl
cp captures/v1_samba_impacket_smb311_noauth.pcap "$work/capture.pcap"
cd "$work"
env -i HOME="$work" "$work/user/bin/pcq" --version
env -i HOME="$work" "$work/user/bin/pcq" timeline capture.pcap --format jsonl | grep -c '"record":"call"'
env -i HOME="$work" "$work/user/bin/python" -c "import analyzer; assert not analyzer.__file__.startswith('$root'), analyzer.__file__"
if [ -n "$kept" ]; then
    "$work/builder/bin/python" -m pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7'
    "$work/builder/bin/cyclonedx-py" environment --pyproject "$root/pyproject.toml" --output-reproducible --of JSON -o "$kept/sbom.cdx.json" "$work/user/bin/python"
    cp "$work"/out/one/* "$kept"
fi
