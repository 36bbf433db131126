"""The documentation as a site: `python tools/site.py [DIRECTORY]` writes it to `DIRECTORY/site`, by default `build/site`.

Neither building nor reading it needs a network; search works where a server hands it out (`python -m http.server -d build/site`).
The pages are those of `docs/`, the README and its like. The gallery shows what commands print on a terminal, run on captures that
ship with the project, and the sample page is one that `report` wrote.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
SOURCE = BUILD / "site-source"
CAPTURE = "captures/pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients"
WIDTH, HEIGHT = 118, 200
# Pages from elsewhere, by the names that they have in the site.
PAGES = {
    "index.md": "README.md",
    "captures.md": "captures/README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
# What the gallery shows: a title, the words of the command, and the lines that are shown of it.
GALLERY = (
    ("The first look", "triage {capture}", slice(0, 40)),
    ("Every call", "timeline {capture} --follow-handle q3", slice(0, 40)),
    ("One query handle", "handles {capture} --follow-handle q1", slice(0, 40)),
    ("One call down to its bytes", "show {capture} --call 190", slice(0, 40)),
    ("What a performance monitor would have shown", "counters {capture}", slice(0, 30)),
    ("What breaks the specification", "audit {capture}", slice(8, 46)),
)


def main() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE, ignore=shutil.ignore_patterns("*.1", "schema"))
    for name, path in PAGES.items():
        (SOURCE / name).write_text((ROOT / path).read_text(encoding="utf-8"), encoding="utf-8")
    for page in SOURCE.glob("*.md"):
        page.write_text(with_links(page.read_text(encoding="utf-8")), encoding="utf-8")
    pcq("report", f"{CAPTURE}.pcap", "--secrets", f"{CAPTURE}.secrets.json", "-o", str(SOURCE / "sample.html"))
    write_gallery()
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_SOURCE": str(SOURCE), "SITE": str(BUILD / "site")},
        check=True,
    )


def with_links(text: str) -> str:
    """A page whose links lead to pages of the site; what is no page there is named without a link."""
    places = {path: name for name, path in PAGES.items()}

    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        path, _, part = target.partition("#")
        name = places.get(path.removeprefix("../"), path.removeprefix("docs/"))
        if "://" in target or not path:
            return found[0]
        if (SOURCE / name).exists() and "/" not in name:
            return f"[{words}]({name}{'#' if part else ''}{part})"
        return words

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def pcq(*words: str) -> None:
    """Runs a command that writes a file."""
    subprocess.run([sys.executable, "-m", "analyzer", *words], cwd=ROOT, check=True)


def write_gallery() -> None:
    """A page with a picture of each command, and a link to the sample page."""
    parts = [
        "# Gallery\n\nEach picture is what the command printed on a sample capture, whose keys were given. The last is a page",
        "of `report`: [open it](sample.html){target=_blank}.\n",
    ]
    for number, (title, words, shown) in enumerate(GALLERY):
        line = words.format(capture="incident.pcap")
        lines = printed(words.format(capture=f"{CAPTURE}.pcap").split())[shown]
        console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115
        for one in lines:
            console.print(
                Text.from_ansi(one.replace(f"{CAPTURE}.pcap", "incident.pcap")), overflow="crop", no_wrap=True
            )
        (SOURCE / f"gallery-{number}.svg").write_text(console.export_svg(title=f"pcq {line}"), encoding="utf-8")
        parts.append(f"## {title}\n\n```sh\npcq {line}\n```\n\n![What it prints](gallery-{number}.svg)\n")
    parts.append("## The page of report\n\n![A call in the page](report.png)\n")
    (SOURCE / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


def printed(words: list[str]) -> list[str]:
    """The lines that a command prints on a terminal, with its colours."""
    main_end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PCQ_SECRETS": f"{CAPTURE}.secrets.json",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "analyzer", *words, "--no-pager"],
        cwd=ROOT,
        env=environment,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    ):
        os.close(terminal)
        parts = []
        try:
            while part := os.read(main_end, 1 << 16):
                parts.append(part)
        except OSError:  # so a terminal says that nobody writes to it any more
            pass
        os.close(main_end)
    return b"".join(parts).decode().splitlines()


if __name__ == "__main__":
    main()
