"""Pyright, the type checker of editors: `complaints(script)`, fetched by npm at the version locked beside this file."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_PROGRAM = HERE / "node_modules" / "pyright" / "index.js"


def complaints(script: Path) -> list[dict[str, Any]]:
    """What it has to say of a script in its strict mode."""
    node, npm = shutil.which("node"), shutil.which("npm")
    assert node is not None
    assert npm is not None
    if not _PROGRAM.is_file():
        subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, capture_output=True, check=True
        )
    settings = {"include": [script.name], "typeCheckingMode": "strict", "extraPaths": [str(HERE.parents[1])]}
    (script.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    ran = subprocess.run(
        [node, _PROGRAM, "--outputjson", "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=script.parent,
    )
    report = json.loads(ran.stdout)
    assert report["summary"]["filesAnalyzed"] == 1, ran.stdout
    found: list[dict[str, Any]] = report["generalDiagnostics"]
    return found
