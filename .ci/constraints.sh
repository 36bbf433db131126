#!/bin/sh
# Writes the versions installed in a virtual environment, without the package itself, to constraints.txt; and to requirements.lock
# those that any Python from 3.11 on needs, each with the hashes of all its files.
set -eu

{
    echo '# The versions the tests run with, for pip --constraint. Written by `make constraints`; the ranges are in pyproject.toml.'
    "$1/python" -m pip freeze --exclude-editable --exclude pip --exclude setuptools
} >constraints.txt.new
mv constraints.txt.new constraints.txt
{
    echo '# What the tests need, with the hashes of its files, for pip --require-hashes. Written by `make constraints` from constraints.txt.'
    "$1/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --all-extras --group dev \
        --constraint constraints.txt pyproject.toml
} >requirements.lock.new
mv requirements.lock.new requirements.lock
