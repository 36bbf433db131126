"""Programs that call what they like: Samba's rpcclient, and nmap. What they sent, the server's log tells."""

import subprocess

from rig.clients.lines import options


def main():
    asked = options()
    words = [word.format(**asked) for word in asked["words"]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=asked.get("seconds", 60), check=False)
    if done.returncode not in asked.get("codes", [0, 1, 255]):
        raise SystemExit(f"{words[0]} ended with {done.returncode}: {done.stderr[-200:]}")


main()
