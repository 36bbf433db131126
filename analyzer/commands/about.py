"""What `--help` says of each command: its group, one line, and examples (what is wanted, and the command line for it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

HAPPENED, SCREENS, COUNTERS, CONFORMANCE, KEPT, HELP = (
    "What happened",
    "To look around",
    "Counters",
    "Conformance",
    "To keep and pass on",
    "Help",
)


class AboutCommand(NamedTuple):
    """What is said of a command: the group it is listed in, one line, and its examples."""

    group: str
    line: str
    examples: tuple[tuple[str, str], ...]


# In this order `--help` lists them.
ABOUT: Mapping[str, AboutCommand] = {
    "triage": AboutCommand(
        HAPPENED,
        "who did what to what, on which machine (also: pcq FILE)",
        (
            ("the first look at a folder of captures", "triage 'captures/*.pcap*'"),
            ("each observation with its frames, and the processes", "triage x.pcapng -v"),
            ("for scripts, one record a file", "triage 'captures/*.pcap*' --format jsonl"),
        ),
    ),
    "timeline": AboutCommand(
        HAPPENED,
        "every call: who asked what, when, and what came back",
        (
            ("every call, encrypted ones opened", "timeline x.pcapng --secrets keys.toml"),
            ("failed polls", "timeline x.pcapng -Y 'opnum == 6 && status != 0'"),
            ("one query handle from its opening to its end", "timeline x.pcapng --follow-handle q2"),
        ),
    ),
    "show": AboutCommand(
        HAPPENED,
        "one call: each field beside its bytes and frames",
        (
            ("one call down to its bytes", "show x.pcapng --call 12"),
            ("one field and the frames that carried it", "show x.pcapng --call 12 --field response.lpData.perf_freq"),
        ),
    ),
    "sessions": AboutCommand(
        HAPPENED,
        "logons over SMB: who, how protected, which key fits",
        (("who was logged on, and what would open it", "sessions x.pcapng"),),
    ),
    "hosts": AboutCommand(HAPPENED, "machines and their names", (("the machines and their names", "hosts x.pcapng"),)),
    "processes": AboutCommand(
        HAPPENED,
        "processes seen on each machine, and what is odd",
        (("what ran on the machines, and since when", "processes x.pcapng --secrets keys.toml"),),
    ),
    "diff": AboutCommand(
        HAPPENED,
        "what differs between two captures",
        (
            ("what changed between two captures of a machine", "diff before.pcapng after.pcapng --secrets keys.toml"),
            ("what runs on a machine that did not run before", "diff today.pcapng --baseline host.json"),
            ("the same questions to another server", "diff windows.pcapng mine.pcapng --interface PerflibV2"),
        ),
    ),
    "files": AboutCommand(
        HAPPENED,
        "files copied over SMB, with SHA-256",
        (("what was copied to the machines, with digests", "files x.pcapng --secrets keys.toml"),),
    ),
    "handles": AboutCommand(
        HAPPENED,
        "query handles: what each asked for, and when",
        (("what each query asked for, and when", "handles x.pcapng --secrets keys.toml"),),
    ),
    "stats": AboutCommand(
        HAPPENED,
        "response times, errors, who looked at what",
        (("response times, failures, who looked at what", "stats x.pcapng --secrets keys.toml"),),
    ),
    "report": AboutCommand(
        SCREENS,
        "a page for a browser, with all of the above",
        (("a page for a browser, with everything in it", "report x.pcapng --secrets keys.toml -o report.html"),),
    ),
    "browse": AboutCommand(
        SCREENS,
        "three panes in the terminal",
        (("three panes in the terminal", "browse x.pcapng --secrets keys.toml"),),
    ),
    "counters": AboutCommand(
        COUNTERS,
        "rates, percentages and times, as a monitor shows them",
        (
            ("what a performance monitor would have shown", "counters x.pcapng"),
            (
                "one counter, a mean each minute",
                r"counters x.pcapng --counter '\Processor(*)\% Processor Time' --interval 1m",
            ),
        ),
    ),
    "samples": AboutCommand(
        COUNTERS,
        "raw counter values, one a line",
        (
            ("all raw values for other programs", "samples x.pcapng --format parquet -o samples.parquet"),
            ("values of one instance", "samples x.pcapng -Y 'instance == \"_Total\"'"),
        ),
    ),
    "export-metadata": AboutCommand(
        COUNTERS,
        "names that servers reported, for --metadata",
        (
            ("names of counters for captures that lack them", "export-metadata old.pcapng -o names.json"),
            ("and how they are used", "timeline new.pcapng --metadata names.json"),
        ),
    ),
    "audit": AboutCommand(
        CONFORMANCE,
        "which requirement of MS-PCQ was broken, where, by whom",
        (
            ("every requirement of the specification", "audit x.pcapng --secrets keys.toml"),
            ("for code scanning", "audit x.pcapng --format sarif -o x.sarif"),
            ("only what is new since somebody looked", "audit x.pcapng --baseline accepted.json"),
        ),
    ),
    "explain": AboutCommand(
        CONFORMANCE,
        "a rule of the audit, or what looks like an attack",
        (("what a rule looks for, and why", "explain PCQ101"),),
    ),
    "probe": AboutCommand(
        CONFORMANCE,
        "send every kind of call to a server, and capture it",
        (
            ("what would be sent, without sending it", "probe --dry-run"),
            (
                "a server of your own, for audit --triggered",
                r"probe srv --password-of 'LAB\prober' --password - -w probe.pcapng --triggered triggered.json",
            ),
        ),
    ),
    "calibrate": AboutCommand(
        CONFORMANCE,
        "our values beside what Windows displayed",
        (("what Windows returned, beside what we make of it", "calibrate collected/"),),
    ),
    "crosscheck": AboutCommand(
        CONFORMANCE,
        "our DCERPC PDUs beside tshark's",
        (("what tshark sees in the same capture", "crosscheck x.pcapng"),),
    ),
    "decode": AboutCommand(
        CONFORMANCE,
        "a buffer from a file, without a capture",
        (
            ("a buffer that a program gave you", "decode buffer.bin"),
            ("a hex dump from standard input", "decode - --as winperf"),
        ),
    ),
    "save": AboutCommand(
        KEPT,
        "a case: the analysis in one file, decrypted, no keys",
        (
            ("everything in one file, decrypted, without keys", "save x.pcapng --secrets keys.toml -o x.pcq"),
            ("and read again by any command", "timeline x.pcq"),
        ),
    ),
    "export": AboutCommand(
        KEPT,
        "the calls as a capture for Wireshark",
        (
            ("the decrypted calls for Wireshark", "export x.pcapng --secrets keys.toml --pcapng clear.pcapng"),
            ("a trace of Windows for Wireshark", "export x.etl --frames x.pcapng"),
            ("the packets of failed calls, for a colleague", "export x.pcapng -Y 'status != 0' --slice failed.pcapng"),
        ),
    ),
    "collect": AboutCommand(
        KEPT,
        "many captures into one dataset of Parquet tables",
        (
            ("all captures of a directory, as tables", "collect /captures --secrets keys.toml -o dataset"),
            ("the same again, where only new files are read", "collect /captures --secrets keys.toml -o dataset"),
            (
                "object storage, on a cluster",
                "collect 's3://sensors/*.pcapng' -o s3://tables/pcq --scheduler tls://head:8786",
            ),
        ),
    ),
    "verify": AboutCommand(
        KEPT,
        "whether a result still belongs to its captures",
        (
            ("a result that states what it was made from", "timeline x.pcapng --hash -o x.txt"),
            ("and whether it belongs to a capture", "verify x.txt x.pcapng"),
        ),
    ),
    "keys": AboutCommand(
        KEPT,
        "keys in the formats of other tools",
        (
            ("the keys of a capture for Wireshark", "keys wireshark x.pcapng --secrets keys.toml -o seskey_list"),
            ("a keytab from a password", "keys keytab host/srv.example.com@EXAMPLE.COM -o srv.keytab"),
        ),
    ),
    "docs": AboutCommand(
        HELP,
        "the documentation, without a network",
        (
            ("what there is to read", "docs"),
            ("every key of the output", "docs output"),
        ),
    ),
    "limits": AboutCommand(
        HELP,
        "what bounds an analysis, and the option for it",
        (
            ("what a capture may cost, and why", "limits"),
            ("the same for programs", "limits --format jsonl"),
        ),
    ),
}


def examples_of(name: str) -> str | None:
    """The end of a command's help: what is wanted, and below it the line for it."""
    examples = ABOUT[name].examples
    return "\n".join(f"{what[:1].upper()}{what[1:]}:\n  pcq-analyzer {words}" for what, words in examples) or None
