#!/bin/sh
# Runs tools/windows/collect.py with the functions of Wine, and lets `pcq-analyzer calibrate` read what it stored. As root on Debian it
# installs what it needs: wine64, and a compiler for caller.exe.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
command -v x86_64-w64-mingw32-gcc >/dev/null && [ -x /usr/lib/wine/wine64 ] ||
    apt-get install -y -qq --no-install-recommends wine64 gcc-mingw-w64-x86-64-win32 >/dev/null
folder=$(mktemp -d)
trap '/usr/lib/wine/wineserver64 -k 2>/dev/null || true; rm -rf "$folder"' EXIT
x86_64-w64-mingw32-gcc -O1 -Wall -Wextra -Werror -Wno-cast-function-type -o "$folder/caller.exe" caller.c
export WINEPREFIX="$folder/prefix" WINEDEBUG=-all WINE="${WINE:-/usr/lib/wine/wine64}"
"$python" under_wine.py "$folder/caller.exe" "$folder/collected"
cd ../../..
"$python" -m analyzer calibrate "$folder/collected" || [ $? = 5 ]
