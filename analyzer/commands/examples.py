"""How `--help` groups the commands, and examples of each: what is wanted, and the command line for it."""

from __future__ import annotations

from collections.abc import Mapping

LOOK, COUNT, JUDGE, CHECK, OTHER = (
    "What happened",
    "What the counters showed",
    "What is wrong",
    "Bytes and proof",
    "Other",
)

# Command: the group it is listed in, and its examples.
EXAMPLES: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "triage": (
        LOOK,
        (
            ("the first look at a folder of captures", "triage 'captures/*.pcap*'"),
            ("for scripts, one record a file", "triage 'captures/*.pcap*' --format jsonl"),
        ),
    ),
    "timeline": (
        LOOK,
        (
            ("every call, encrypted ones opened", "timeline x.pcapng --secrets keys.toml"),
            ("failed polls", "timeline x.pcapng -Y 'opnum == 6 && status != 0'"),
            ("one query handle from its opening to its end", "timeline x.pcapng --follow-handle q2"),
        ),
    ),
    "show": (
        LOOK,
        (
            ("one call down to its bytes", "show x.pcapng --call 12"),
            ("one field and the frames that carried it", "show x.pcapng --call 12 --field response.lpData.perf_freq"),
        ),
    ),
    "report": (
        LOOK,
        (("a page for a browser, with everything in it", "report x.pcapng --secrets keys.toml -o report.html"),),
    ),
    "browse": (LOOK, (("three panes in the terminal", "browse x.pcapng --secrets keys.toml"),)),
    "sessions": (LOOK, (("who was logged on, and what would open it", "sessions x.pcapng"),)),
    "hosts": (LOOK, (("the machines and their names", "hosts x.pcapng"),)),
    "handles": (LOOK, (("what each query asked for, and when", "handles x.pcapng --secrets keys.toml"),)),
    "stats": (LOOK, (("response times, failures, who looked at what", "stats x.pcapng --secrets keys.toml"),)),
    "counters": (
        COUNT,
        (
            ("what a performance monitor would have shown", "counters x.pcapng"),
            (
                "one counter, a mean each minute",
                r"counters x.pcapng --counter '\Processor(*)\% Processor Time' --interval 1m",
            ),
        ),
    ),
    "samples": (
        COUNT,
        (
            ("all raw values for other programs", "samples x.pcapng --format parquet -o samples.parquet"),
            ("values of one instance", "samples x.pcapng -Y 'instance == \"_Total\"'"),
        ),
    ),
    "save": (
        CHECK,
        (
            ("everything in one file, decrypted, without keys", "save x.pcapng --secrets keys.toml -o x.pcq"),
            ("and read again by any command", "timeline x.pcq"),
        ),
    ),
    "collect": (
        OTHER,
        (
            ("all captures of a directory, as tables", "collect /captures --secrets keys.toml -o dataset"),
            ("the same again, where only new files are read", "collect /captures --secrets keys.toml -o dataset"),
            (
                "object storage, on a cluster",
                "collect 's3://sensors/*.pcapng' -o s3://tables/pcq --scheduler tls://head:8786",
            ),
        ),
    ),
    "export-metadata": (
        COUNT,
        (
            ("names of counters for captures that lack them", "export-metadata old.pcapng -o names.json"),
            ("and how they are used", "timeline new.pcapng --metadata names.json"),
        ),
    ),
    "audit": (
        JUDGE,
        (
            ("every requirement of the specification", "audit x.pcapng --secrets keys.toml"),
            ("for code scanning", "audit x.pcapng --format sarif -o x.sarif"),
            ("only what is new since somebody looked", "audit x.pcapng --baseline accepted.json"),
        ),
    ),
    "explain": (JUDGE, (("what a rule looks for, and why", "explain PCQ101"),)),
    "export": (
        CHECK,
        (
            ("the decrypted calls for Wireshark", "export x.pcapng --secrets keys.toml --pcapng clear.pcapng"),
            ("the packets of failed calls, for a colleague", "export x.pcapng -Y 'status != 0' --slice failed.pcapng"),
        ),
    ),
    "decode": (
        CHECK,
        (
            ("a buffer that a program gave you", "decode buffer.bin"),
            ("a hex dump from standard input", "decode - --as winperf"),
        ),
    ),
    "crosscheck": (CHECK, (("what tshark sees in the same capture", "crosscheck x.pcapng"),)),
    "verify": (
        CHECK,
        (
            ("a result that states what it was made from", "timeline x.pcapng --hash -o x.txt"),
            ("and whether it belongs to a capture", "verify x.txt x.pcapng"),
        ),
    ),
    "probe": (
        CHECK,
        (
            ("what would be sent, without sending it", "probe --dry-run"),
            (
                "a server of your own, for audit --triggered",
                r"probe srv --password-of 'LAB\prober' --password - -w probe.pcapng --triggered triggered.json",
            ),
        ),
    ),
    "calibrate": (CHECK, (("what Windows returned, beside what we make of it", "calibrate collected/"),)),
    "keys": (
        CHECK,
        (
            ("the keys of a capture for Wireshark", "keys wireshark x.pcapng --secrets keys.toml -o seskey_list"),
            ("a keytab from a password", "keys keytab host/srv.example.com@EXAMPLE.COM -o srv.keytab"),
        ),
    ),
    "docs": (OTHER, (("what there is to read", "docs"), ("every key of the output", "docs output"))),
    "limits": (
        OTHER,
        (("what a capture may cost, and why", "limits"), ("the same for programs", "limits --format jsonl")),
    ),
}


def examples_of(name: str) -> str | None:
    """The end of a command's help: a paragraph an example."""
    _, examples = EXAMPLES.get(name, (OTHER, ()))
    return "\n\n".join(f"{what[:1].upper()}{what[1:]}: pcq-analyzer {words}" for what, words in examples) or None
