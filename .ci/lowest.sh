#!/bin/sh
# Runs the tests with the lowest versions that pyproject.toml allows, in an environment of its own. PYTHON names the interpreter
# (python3), which has to be of the oldest Python that is supported; arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=${VENV:-.venv}/lowest

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# Each range's lower end, of what the command and its extras need; what these need themselves is pip's to choose.
"$venv/bin/python" - >"$venv/lowest.txt" <<'PYTHON'
import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
for line in [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]:
    name, bound = re.fullmatch(r"([\w-]+)(?:>=|==)([\w.]+).*", line).groups()
    print(f"{name}=={bound}")
PYTHON
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$venv/lowest.txt" \
    --editable '.[tshark,notebook,probe,browse,cluster]' hypothesis pytest pytest-randomly pytest-xdist
"$venv/bin/python" -m pip list --disable-pip-version-check | grep -iE '^(cryptography|lark|msgspec|numpy|orjson|polars|scapy|typer) '
"$venv/bin/python" -m pytest -n auto --dist worksteal --deselect tests/test_project.py "$@"
