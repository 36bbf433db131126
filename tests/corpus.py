"""The public captures: where they are, what tshark counts in them, and what we count. Run as a program, it prints our counts.

The captures are not ours to pass on; PCQ_CORPUS names the folder that holds them with `expected.tshark.json`.
"""

import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from analyzer.core.errors import InputError
from analyzer.pipeline.run import analyze

CORPUS = Path(os.environ.get("PCQ_CORPUS", ""))
PTYPES = {
    0: "request",
    2: "response",
    3: "fault",
    11: "bind",
    12: "bind_ack",
    13: "bind_nak",
    14: "alter_context",
    15: "alter_context_resp",
    16: "auth3",
    17: "shutdown",
    18: "co_cancel",
    19: "orphaned",
}
# Where our counts and those of tshark 4.0.17 differ, and why we stand by ours (or whose limit it is).
_INTERLEAVED = "two connections with equal ports and numbers lie in each other; the FIN of one (frames 1215, 1365) ends both for us"
DIFFERENT = {
    "ITI-ICS-Security-Tools/pcaps__ModbusTCP__mb2.pcap": "8 of its requests are connectionless (UDP); it misses frame 12070",
    "OISF-suricata-verify/tests__dcerpc__zerologon__input.pcap": "misses the request in frame 419, and counts its response",
    "OISF-suricata-verify/tests__smb-length-5770__input.pcap": "does not look for SMB on port 4445",
    "OISF-suricata-verify/tests__smb2-03-rule__smb2.pcap": "counts the one request of frame 23 twice",
    "OISF-suricata-verify/tests__smb2-ntlmssp-order__smb2.pcap": "counts the one request twice",
    "OISF-suricata-verify/tests__truncate-applayer-test-01__input.pcap": "misses the last of 24 responses",
    "arkime-arkime/tests__pcap__dcerpc_synthetic.pcap": "does not look at the pipes and ports made up there",
    "nfstream-nfstream/tests__pcaps__dcerpc.pcap": "connectionless (UDP)",
    "odedshimon-BruteShark/Pcap_Examples__Kerberos_-_v5_UDP.pcap": _INTERLEAVED,
    "odedshimon-BruteShark/Pcap_Examples__PCAPNG_Examples__Kerberos_-_v5_UDP.pcapng": _INTERLEAVED,
    "zeek-zeek/testing__btest__Traces__dce-rpc__mapi.pcap": "misses requests in frames 331 to 339 and 565",
}
# Microsoft Network Monitor's format is left to the second engine.
OTHER_FORMATS = {"mlgualtieri-NTLMRawUnHide/examples__capture.cap"}


def expected() -> dict[str, dict[str, Any]]:
    """What tshark counts in each file, by its path in the folder."""
    files: dict[str, dict[str, Any]] = json.loads((CORPUS / "expected.tshark.json").read_text())["files"]
    return files


def counted(path: Path) -> dict[str, Any]:
    """Our counts of one capture in the shape of `expected`, with the seconds of processor time it took."""
    begun = time.process_time()
    analysis = analyze([path])
    opnums: dict[str, Counter[str]] = {}
    for call in analysis.calls:
        if call.request is not None:
            opnums.setdefault(call.interface.uuid or "unknown", Counter())[str(call.opnum)] += 1
    return {
        "frames": analysis.capture.frames,
        "pdus_by_type": Counter(PTYPES.get(pdu.ptype, str(pdu.ptype)) for pdu in analysis.pdus),
        "request_opnums_by_interface": opnums,
        "bound": sorted({bound.interface for bound in analysis.bounds}),
        "seconds": time.process_time() - begun,
    }


def main() -> None:
    """One line of JSON a capture, then the peak of memory in KiB."""
    for name in expected():
        try:
            line = {"file": name, **counted(CORPUS / name)}
        except InputError as error:
            line = {"file": name, "unusable": str(error)}
        sys.stdout.write(json.dumps(line) + "\n")
    # What getrusage says begins with the peak of the process that started this one.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    sys.stdout.write(json.dumps({"peak_kib": int(peak[1])}) + "\n")


if __name__ == "__main__":
    main()
