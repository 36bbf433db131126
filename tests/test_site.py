"""The documentation as a site: it is built from what is in the project, without a broken link, and read without a network."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_site_is_built_and_needs_no_network(tmp_path: Path) -> None:
    """A link that leads nowhere ends the build."""
    done = subprocess.run(
        [sys.executable, "tools/site.py", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    site = tmp_path / "site"
    documents = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert documents | {"index", "gallery", "sample", "captures", "changelog"} <= {
        path.stem for path in site.glob("*.html")
    }
    pictures = re.findall(r'src="(gallery-\d+\.svg)"', (site / "gallery.html").read_text(encoding="utf-8"))
    assert len(pictures) == 6
    for name in pictures:
        assert "incident.pcap" in (site / name).read_text(encoding="utf-8")
    loaded = [
        found
        for page in site.glob("*.html")
        if page.name != "sample.html"
        for found in re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8")
        )
    ]
    assert loaded == []
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {"tutorial.html", "rules.html"} <= {one["location"].partition("#")[0] for one in index["docs"]}
