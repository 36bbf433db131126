#!/bin/sh
# Prints the versions installed in a virtual environment, without the package itself, as constraints for pip.
set -eu

echo '# The versions the tests run with, for pip --constraint. Written by `make constraints`; the ranges are in pyproject.toml.'
"$1/python" -m pip freeze --exclude-editable --exclude pip --exclude setuptools
