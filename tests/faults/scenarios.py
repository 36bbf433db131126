"""The commands that faults are tried on, each in a folder of its own with what it reads and with an older result."""

import shutil
from pathlib import Path

from msgspec import Struct

CAPTURES = Path(__file__).parents[2] / "captures"
_V2 = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied"
_BUFFER = Path(__file__).parents[1] / "interfaces" / "buffers" / "vectors" / "v1_perf_data_block.bin"
# What an older result holds.
OLD = b"an older result\n"


class Scenario(Struct, frozen=True):
    """A command: its words, and the file that it writes, if any; else standard output is its result. One that is `beside` another
    has the same command running at the same time, which meets no fault."""

    words: tuple[str, ...]
    output: str | None = None
    beside: bool = False

    @property
    def is_dataset(self) -> bool:
        """Whether it adds to a dataset, of which the rows are its result."""
        return self.words[0] == "collect"

    @property
    def name(self) -> str:
        return " ".join(self.words) + (" # beside another" if self.beside else "")


def prepare(folder: Path) -> None:
    """Files to read: two captures with their secrets, a case, a buffer, a result."""
    for source, name in ((_V2, "a"), (CAPTURES / "v1_samba_sambapy_krb5sha384_krb5_seal", "b")):
        shutil.copy(source.with_suffix(".pcap"), folder / f"{name}.pcap")
        shutil.copy(source.with_suffix(".secrets.json"), folder / f"{name}.secrets.json")
    shutil.copy(_V2.with_suffix(".secrets.json"), folder / "both.secrets.json")
    shutil.copy(CAPTURES / "sha384.keytab", folder)
    shutil.copy(_BUFFER, folder / "buffer.bin")


# What some commands read, and the command that makes it.
MADE = {
    "case": ("save", "a.pcap", "--secrets", "a.secrets.json"),
    "result.jsonl": ("timeline", "a.pcap", "--format", "jsonl", "--hash"),
    "dataset": ("collect", "a.pcap", "--secrets", "both.secrets.json", "--workers", "1"),
}
_READ = ("a.pcap", "--secrets", "a.secrets.json")
_FORMS = (
    *(("timeline", form) for form in ("text", "jsonl", "csv", "parquet")),
    *(("samples", form) for form in ("jsonl", "csv", "parquet")),
    *(("counters", form) for form in ("jsonl", "parquet")),
    *(("audit", form) for form in ("text", "sarif", "junit")),
    *((name, "jsonl") for name in ("stats", "sessions", "hosts", "handles", "triage")),
)
_COLLECT = ("collect", "a.pcap", "b.pcap", "--secrets", "both.secrets.json", "-o", "dataset", "--workers", "1")
SCENARIOS: tuple[Scenario, ...] = (
    *(Scenario((name, *_READ, "--format", form, "-o", "out", "--force"), "out") for name, form in _FORMS),
    *(Scenario((name, *_READ, "--format", "jsonl")) for name in ("timeline", "samples")),
    Scenario(("timeline", "b.pcap", "--secrets", "b.secrets.json", "--format", "text")),
    Scenario(("timeline", "a.pcap", "b.pcap", "--format", "jsonl", "-o", "out", "--force"), "out"),
    Scenario(("timeline", *_READ, "--format", "jsonl", "--redact", "--redact-key", "k" * 32)),
    Scenario(("show", *_READ, "--call", "1")),
    Scenario(("report", *_READ, "-o", "out", "--force"), "out"),
    Scenario(("save", *_READ, "-o", "out", "--force"), "out"),
    Scenario(("timeline", "case", "--format", "jsonl", "-o", "out", "--force"), "out"),
    Scenario(("audit", "case", "--format", "text")),
    Scenario(("export", *_READ, "--pcapng", "out", "--force"), "out"),
    Scenario(("export", *_READ, "--slice", "out", "--force"), "out"),
    Scenario(("export-metadata", *_READ, "-o", "out", "--force"), "out"),
    Scenario(("verify", "result.jsonl", "a.pcap")),
    Scenario(("keys", "wireshark", *_READ)),
    Scenario(("docs", "filters", "-o", "out", "--force"), "out"),
    Scenario(("decode", "buffer.bin", "--format", "jsonl", "-o", "out", "--force"), "out"),
    Scenario(("probe", "--dry-run", "127.0.0.1")),
    Scenario(("docs", "limits")),
    Scenario(("timeline", "b.pcap", "--engine", "tshark", "--format", "jsonl", "-o", "out", "--force"), "out"),
    Scenario(("crosscheck", "b.pcap")),
    Scenario(_COLLECT, "dataset"),
    Scenario(_COLLECT, "dataset", beside=True),
)
