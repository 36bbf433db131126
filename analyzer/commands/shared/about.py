"""The help entries of all commands for `--help`: group, one line, and examples (a purpose, and the command line for it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

HAPPENED, SEEN, SCREENS, COUNTERS, CONFORMANCE, KEPT, HELP = (
    "What happened",
    "Who and what",
    "Look around",
    "Counters",
    "Conformance",
    "Keep, share",
    "Help",
)


class AboutCommand(NamedTuple):
    """The help entry of a command: its group, its line, its examples, and the options that `--help` explains (none named: those
    that only this command has)."""

    group: str
    line: str
    examples: tuple[tuple[str, str], ...]
    first: tuple[str, ...] = ()


_CALLS = ("-Y", "--since", "--until", "--user", "--server", "--client")
_PRINTED = ("--secrets", "--format", "-o")


# In the order of `--help`.
ABOUT: Mapping[str, AboutCommand] = {
    "triage": AboutCommand(
        HAPPENED,
        "who did what to what, where (also: pcq FILE)",
        (
            ("the first look at a folder of captures", "triage 'captures/*.pcap*'"),
            ("each observation with its frames, and the processes", "triage x.pcapng -v"),
            ("for scripts, one record a file", "triage 'captures/*.pcap*' --format jsonl"),
        ),
        ("-v", "--fail-on", "--since", "--until", "--user", "--server", "--client", *_PRINTED),
    ),
    "timeline": AboutCommand(
        HAPPENED,
        "every call: who asked what, and the answer",
        (
            ("every call, encrypted ones opened", "timeline x.pcapng --secrets keys.toml"),
            ("failed polls", "timeline x.pcapng -Y 'opnum == 6 && (status != 0 || fault)'"),
            ("one query handle from its opening to its end", "timeline x.pcapng --follow-handle q2"),
        ),
        ("-Y", "--head", "--tail", "--since", "--user", "--server", "--follow-handle", *_PRINTED),
    ),
    "show": AboutCommand(
        HAPPENED,
        "one call: each field, its bytes and frames",
        (
            ("one call down to its bytes", "show x.pcapng --call 12"),
            ("one field and the frames that carried it", "show x.pcapng --call 12 --field response.lpData.perf_freq"),
        ),
        ("--call", "--field", "--packets", "-Y", "--follow-handle", *_PRINTED),
    ),
    "diff": AboutCommand(
        HAPPENED,
        "what differs between two captures",
        (
            ("what changed between two captures of a machine", "diff before.pcapng after.pcapng --secrets keys.toml"),
            ("what runs on a machine that did not run before", "diff today.pcapng --baseline host.json"),
            ("the same questions to another server", "diff windows.pcapng mine.pcapng --interface PerflibV2"),
        ),
        ("--at", "--baseline", "--write-baseline", "--values", "-Y", "--user", "--server", *_PRINTED),
    ),
    "stats": AboutCommand(
        HAPPENED,
        "response times, errors, who looked at what",
        (("response times, failures, who looked at what", "stats x.pcapng --secrets keys.toml"),),
        (*_CALLS, *_PRINTED),
    ),
    "sessions": AboutCommand(
        SEEN,
        "logons over SMB: who, and what protects them",
        (("who was logged on, and what would open it", "sessions x.pcapng"),),
        (*_CALLS, *_PRINTED),
    ),
    "hosts": AboutCommand(
        SEEN,
        "machines, their names and roles",
        (("the machines and their names", "hosts x.pcapng"),),
        (*_CALLS, *_PRINTED),
    ),
    "processes": AboutCommand(
        SEEN,
        "processes of each machine, and what is odd",
        (("what ran on the machines, and since when", "processes x.pcapng --secrets keys.toml"),),
        (*_CALLS, *_PRINTED),
    ),
    "files": AboutCommand(
        SEEN,
        "files copied over SMB, with SHA-256",
        (("what was copied to the machines, with digests", "files x.pcapng --secrets keys.toml"),),
        ("--secrets", "--format", "-o", "--tz", "--redact"),
    ),
    "handles": AboutCommand(
        SEEN,
        "query handles and registry keys that were polled",
        (("what each query asked for, and when", "handles x.pcapng --secrets keys.toml"),),
        ("--follow-handle", *_CALLS, *_PRINTED),
    ),
    "report": AboutCommand(
        SCREENS,
        "one page for a browser, with everything",
        (("a page for a browser, with everything in it", "report x.pcapng --secrets keys.toml -o report.html"),),
        ("-o", "--secrets", "--title", "--profile", "--live", "--metadata", "--redact", "--force"),
    ),
    "browse": AboutCommand(
        SCREENS,
        "three panes in the terminal",
        (("three panes in the terminal", "browse x.pcapng --secrets keys.toml"),),
        ("--secrets", "--password", "--keytab", "--metadata", "--read-until"),
    ),
    "counters": AboutCommand(
        COUNTERS,
        "rates and percentages, as PerfMon shows them",
        (
            ("what a performance monitor would have shown", "counters x.pcapng"),
            (
                "one counter, a mean each minute",
                r"counters x.pcapng --counter '\Processor(*)\% Processor Time' --interval 1m",
            ),
        ),
        ("--counter", "--interval", "--exact", "-Y", "--since", "--until", "--server", *_PRINTED),
    ),
    "samples": AboutCommand(
        COUNTERS,
        "raw counter values, one a line",
        (
            ("all raw values for other programs", "samples x.pcapng --format parquet -o samples.parquet"),
            ("values of one instance", "samples x.pcapng -Y 'instance == \"_Total\"'"),
        ),
        ("-Y", "--since", "--until", "--server", "--follow-handle", *_PRINTED),
    ),
    "export-metadata": AboutCommand(
        COUNTERS,
        "counter names, for captures without them",
        (
            ("names of counters for captures that lack them", "export-metadata old.pcapng -o names.json"),
            ("and how they are used", "timeline new.pcapng --metadata names.json"),
        ),
        ("-o", "--secrets", "--force"),
    ),
    "audit": AboutCommand(
        CONFORMANCE,
        "which requirement of MS-PCQ was broken, where",
        (
            ("every requirement of the specification", "audit x.pcapng --secrets keys.toml"),
            ("for code scanning", "audit x.pcapng --format sarif -o x.sarif"),
            ("only what is new since somebody looked", "audit x.pcapng --baseline accepted.json"),
        ),
        ("--select", "--ignore", "--actor", "--profile", "--fail-on", "--baseline", "--list", *_PRINTED),
    ),
    "probe": AboutCommand(
        CONFORMANCE,
        "send every kind of call to a server of yours",
        (
            ("what would be sent, without sending it", "probe --dry-run"),
            (
                "a server of your own, for audit --triggered",
                r"probe srv --password-of 'LAB\prober' --password - -w probe.pcapng --triggered triggered.json",
            ),
        ),
        (
            "--dry-run",
            "-w",
            "--triggered",
            "--keys",
            "--password-of",
            "--password",
            "--tcp-port",
            "--rate",
            "--timeout",
            "--yes",
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
        ("--out-of-order", *_PRINTED),
    ),
    "decode": AboutCommand(
        CONFORMANCE,
        "a buffer from a file, without a capture",
        (
            ("a buffer that a program gave you", "decode buffer.bin"),
            ("a hex dump from standard input", "decode - --as winperf"),
        ),
        ("--as", "--at", "--samples", "--format", "-o"),
    ),
    "save": AboutCommand(
        KEPT,
        "a case: the analysis in one file, without keys",
        (
            ("everything in one file, decrypted, without keys", "save x.pcapng --secrets keys.toml -o x.pcq"),
            ("and read again by any command", "timeline x.pcq"),
        ),
        ("-o", "--secrets", "--metadata", "--redact", "--force"),
    ),
    "export": AboutCommand(
        KEPT,
        "the calls as a capture for Wireshark",
        (
            ("the decrypted calls for Wireshark", "export x.pcapng --secrets keys.toml --pcapng clear.pcapng"),
            ("a trace of Windows for Wireshark", "export x.etl --frames x.pcapng"),
            (
                "the packets of failed calls, for a colleague",
                "export x.pcapng -Y 'status != 0 || fault' --slice failed.pcapng",
            ),
        ),
        ("--pcapng", "--slice", "--frames", "--dsb", "-Y", "--head", "--tail", "--user", "--secrets", "--force"),
    ),
    "collect": AboutCommand(
        KEPT,
        "many captures into Parquet tables",
        (
            (
                "a directory as tables; next time only new files are read",
                "collect /captures --secrets keys.toml -o dataset",
            ),
            (
                "object storage, on a cluster",
                "collect 's3://sensors/*.pcapng' -o s3://tables/pcq --scheduler tls://head:8786",
            ),
        ),
        (
            "-o",
            "--secrets",
            "--since",
            "--until",
            "--site",
            "--workers",
            "--memory",
            "--scheduler",
            "--repair",
            "--allow-fewer-rows",
        ),
    ),
    "verify": AboutCommand(
        KEPT,
        "whether a result belongs to its captures",
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
        "pages, rules, attacks and limits, offline",
        (
            ("what there is to read", "docs"),
            ("what a rule looks for, and why", "docs PCQ101"),
            ("what a capture may cost, and why", "docs limits"),
        ),
    ),
}


def examples_of(name: str) -> str | None:
    """Returns the end of a command's help: what somebody wants, and below it the command line for it."""
    examples = ABOUT[name].examples
    return "\n".join(f"{what[:1].upper()}{what[1:]}:\n  pcq {words}" for what, words in examples) or None
