"""Microsoft's validator of SARIF files: `complaints(*paths)`, fetched by npm at the version locked beside this file."""

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
_VALIDATOR = HERE / "node_modules" / "@microsoft" / "sarif-multitool-linux" / "Sarif.Multitool"


def complaints(*logs: Path) -> list[str]:
    """The errors, warnings and notes it has of logs, one a line, which begins with the path of the log."""
    if not _VALIDATOR.is_file():
        npm = shutil.which("npm")
        assert npm is not None
        subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, capture_output=True, check=True
        )
    _VALIDATOR.chmod(0o755)
    ran = subprocess.run(
        [_VALIDATOR, "validate", *logs, "--level", "Error;Warning;Note", "--rule-kind", "Sarif;Ghas"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    )
    assert "Analysis completed successfully." in ran.stdout or "error" in ran.stdout, ran.stdout + ran.stderr
    return [
        line for line in ran.stdout.splitlines() if any(f": {level} " in line for level in ("error", "warning", "note"))
    ]
