"""Recorded truth in, differences out: what a capture in `captures/` really says, and where a reading of it is wrong.

The truth files hold what client and server themselves logged: plaintext stubs, statuses and counter values. Nothing here uses
the analyzer's own decoders, so that both cannot be wrong in the same way. A reading is what the command prints as JSON Lines.
"""

import base64
import gzip
import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).resolve().parent.parent / "captures"
PCQ = "da5a86c5-12c2-4943-ab30-7f74a813d853"
WINREG = "338cd001-2244-31f1-aaaa-900038001003"
_OPEN_QUERY_HANDLE, _QUERY_COUNTER_DATA, _QUERY_VALUE = 3, 6, 17
# What the client libraries call the faults they saw; impacket prints names, Samba's bindings an NTSTATUS.
_FAULTS = {
    "nca_s_fault_context_mismatch": 0x1C00001A,
    "nca_s_op_rng_error": 0x1C010002,
    "rpc_x_bad_stub_data": 0x6F7,
    "3221422085": 0x1C00001A,
    "3221356590": 0x1C010002,
}

Record = Mapping[str, Any]
Sample = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """One entry of the manifest."""

    file: str
    sha256: str
    shows: str
    server: str
    client: str
    secrets: str
    truth: str
    derived_from: str | None = None
    damaged: bool = False
    intact_calls: int = 0
    breaks: Sequence[str] = ()

    @property
    def path(self) -> Path:
        return CAPTURES / self.file

    @property
    def secrets_path(self) -> Path:
        return CAPTURES / self.secrets

    @property
    def truth_path(self) -> Path:
        return CAPTURES / self.truth


def manifest() -> dict[str, Any]:
    return tomllib.loads((CAPTURES / "manifest.toml").read_text(encoding="utf-8"))


def captures() -> list[Capture]:
    return [Capture(**entry) for entry in manifest()["capture"]]


# One capture, a small one, for each thing that makes captures different: registry and PCQ in the clear and sealed, NDR64, IPv6,
# a refusal, SMB encryption, Kerberos, frames that were cut, a beginning that was not captured.
_HANDFUL = (
    "v1_samba_impacket_smb311_noauth.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
    "v1_samba_sambapy_smb311gcm256_krb5aes256_seal.pcap",
    "pcq_smbd_scapy_impacket_smb311_ntlm_integrity_denied.pcap",
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_ipv6.pcap",
    "pcq_smbd_scapy_scapycli_smb311_ndr64.pcap",
    "n_v1_midstream.pcap",
    "n_v1_snap160.pcap",
)


def handful() -> list[Capture]:
    """Captures that differ, for what is alike in all others: what was read is shown, written, sliced or counted in one way."""
    return [capture for capture in captures() if capture.file in _HANDFUL]


@dataclass(frozen=True, slots=True)
class TrueCall:
    """One call as client and server recorded it. `samples` is None where the answer carries none to compare."""

    number: int
    interface: str
    opnum: int
    request: bytes
    response: bytes | None
    status: int | None
    fault: int | None
    samples: Counter[Sample] | None
    client: str = ""

    def differences(self, call: Record) -> Iterator[str]:
        """What a reading of this call says otherwise."""
        if call["state"] != "complete":
            yield f"state {call['state']}: {call['reason']}"
        got = call["request"]["stub_sha256"] if call["request"] else None
        if got not in _request_digests(self.request, call):
            yield f"request stub of {len(self.request)} bytes read as {_brief(call['request'])}"
        if self.response is not None and (call["response"] or {}).get("stub_sha256") != _sha256(self.response):
            yield f"response stub of {len(self.response)} bytes read as {_brief(call['response'])}"
        if call["status"] != self.status:
            yield f"status {self.status} read as {call['status']}"
        if call["fault"] != self.fault:
            yield f"fault {self.fault} read as {call['fault']}"


def document_of(capture: Capture) -> dict[str, Any]:
    """The truth file of a capture as it is."""
    return dict(json.loads(gzip.decompress(capture.truth_path.read_bytes())))


def load(capture: Capture) -> list[TrueCall]:
    """The calls of a capture in the order the client made them."""
    document = document_of(capture)
    answers = _answers(document)
    calls = []
    for number, raw in enumerate(document["calls"], 1):
        interface = PCQ if str(raw["iface"]).lower() == "perflibv2" else WINREG
        samples = None
        if interface == PCQ and raw["opnum"] == _QUERY_COUNTER_DATA:
            samples = _pcq_samples(next(answers[raw["client"]]).get("decoded"))
        elif interface == WINREG and raw["opnum"] == _QUERY_VALUE:
            samples = _winperf_samples(raw["decoded"])
        response = raw.get("response_stub_b64")
        calls.append(
            TrueCall(
                number,
                interface,
                raw["opnum"],
                base64.b64decode(raw["request_stub_b64"]),
                base64.b64decode(response) if response is not None else None,
                raw.get("status"),
                _fault(raw),
                samples,
                raw["client"],
            )
        )
    assert not any(list(left) for left in answers.values()), "the server answered calls the client does not know of"
    return calls


def server_views(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What the server did for each client, in order. Which connection is whose states the handle that it was given."""
    lines = document.get("server_view") or []
    clients = {raw["client"] for raw in document["calls"]}
    if len(clients) == 1:
        return {client: list(lines) for client in clients}
    handles = {
        base64.b64decode(raw["response_stub_b64"])[4:20].hex(): raw["client"]
        for raw in document["calls"]
        if raw["opnum"] == _OPEN_QUERY_HANDLE and raw.get("status") == 0
    }
    owners = {line["conn"]: handles[line["handle"]] for line in lines if line["opnum"] == _OPEN_QUERY_HANDLE}
    views: dict[str, list[Any]] = {client: [] for client in clients}
    for line in lines:
        views[owners[line["conn"]]].append(line)
    return views


def _answers(document: Mapping[str, Any]) -> dict[str, Iterator[Any]]:
    """The data answers the server gave each client."""
    return {
        client: iter([line for line in lines if line["opnum"] == _QUERY_COUNTER_DATA])
        for client, lines in server_views(document).items()
    }


def compare(true: Sequence[TrueCall], calls: Sequence[Record], samples: Sequence[Record]) -> list[str]:
    """Differences between the truth and a reading of an undamaged capture, a sentence each; none is what we want."""
    ours = [call for call in calls if call["interface"]["uuid"] in (PCQ, WINREG)]
    found = [f"{len(true)} calls were made, {len(ours)} were read"] if len(true) != len(ours) else []
    by_call = _by_call(samples)
    for one, call in zip(_in_order_of(ours, true), ours, strict=False):
        if (one.interface, one.opnum) != (call["interface"]["uuid"], call["opnum"]):
            found.append(f"call {one.number}, opnum {one.opnum}: opnum {call['opnum']} was read")
            continue
        found += [f"call {one.number}, opnum {one.opnum}: {text}" for text in one.differences(call)]
        read = by_call.pop(call["number"], Counter())
        if one.samples is not None:
            found += [f"call {one.number}: {text}" for text in _sample_differences(one.samples, read)]
        elif read:
            found.append(f"call {one.number}: {read.total()} samples were read where none is known")
    return found + [f"samples of call {number}, which is none of ours" for number in by_call]


def _in_order_of(ours: Sequence[Record], true: Sequence[TrueCall]) -> Sequence[TrueCall]:
    """The calls of several clients noted the time by themselves; on the wire they may lie otherwise. Whose connection is
    whose states the first request, which names another machine for each client."""
    by_client: dict[str, list[TrueCall]] = {}
    for one in true:
        by_client.setdefault(one.client, []).append(one)
    if len(by_client) == 1:
        return true
    first = {next(iter(_request_digests(calls[0].request, {}))): calls for calls in by_client.values()}
    owners: dict[tuple[str, int], Iterator[TrueCall]] = {}
    ordered = []
    for call in ours:
        place = call["client"]["ip"], call["client"]["port"]
        if place not in owners:
            owners[place] = iter(first.get(call["request"]["stub_sha256"], []))
        ordered.append(next(owners[place], true[0]))
    return ordered


def compare_damaged(
    true: Sequence[TrueCall], calls: Sequence[Record], samples: Sequence[Record], intact: int
) -> list[str]:
    """As `compare`, where bytes are missing: the first `intact` calls are whole, and whatever else is stated is true."""
    ours = [call for call in calls if call["interface"]["uuid"] in (PCQ, WINREG)]
    first = ours[:intact]
    found = [
        f"call {one.number}, opnum {one.opnum}, before the damage: {text}"
        for one, call in zip(true, first, strict=False)
        for text in one.differences(call)
    ]
    if len(first) < intact:
        found.append(f"{intact} calls lie before the damage, {len(first)} were read")
    if len(calls) > len(true):
        found.append(f"{len(true)} calls were made, {len(calls)} were read")
    for call in ours[intact:]:
        found += [f"call {call['number']}: {text}" for text in _untrue(true, call)]
    known = Counter(key for one in true for key in (one.samples or ()))
    invented = [key for read in _by_call(samples).values() for key in read if key not in known]
    return found + [f"invented sample {key}" for key in invented]


def _untrue(true: Sequence[TrueCall], call: Record) -> Iterator[str]:
    """What a reading claims to know of a call, and no true call confirms."""
    request, response = ((call[side] or {}).get("stub_sha256") for side in ("request", "response"))
    candidates = [one for one in true if one.opnum == call["opnum"]] if call["opnum"] is not None else list(true)
    if request is not None:
        candidates = [one for one in candidates if request in _request_digests(one.request, call)]
    if response is not None and call["fault"] is None:
        candidates = [one for one in candidates if one.response is not None and response == _sha256(one.response)]
    if call["status"] is not None:
        candidates = [one for one in candidates if one.status == call["status"]]
    if call["fault"] is not None:
        candidates = [one for one in candidates if one.fault == call["fault"]]
    if not candidates:
        yield (
            f"opnum {call['opnum']} with request {_brief(call['request'])}, response {_brief(call['response'])}, "
            f"status {call['status']} and fault {call['fault']} was never made"
        )


def _request_digests(stub: bytes, call: Record) -> set[str]:
    """The stub, and where a verification trailer followed it also with the up to 3 bytes that align the trailer."""
    digests = {_sha256(stub)}
    if (call.get("request") or {}).get("verification_trailer") is not None:
        digests.add(_sha256(stub + bytes(-len(stub) % 4)))
    return digests


def _fault(raw: Record) -> int | None:
    if not raw.get("fault"):
        return None
    code = raw.get("fault_code")
    if code is not None:
        return int(code)
    word = re.search(r"nca_\w+|rpc_x_\w+|\d{6,}", str(raw["fault"]))
    assert word is not None, f"a fault of unknown name: {raw['fault']}"
    return _FAULTS[word.group()]


def _pcq_samples(answer: Record | None) -> Counter[Sample] | None:
    """One key a value: block, its type and status, counter (multi-counter blocks only), instance, instance id, value."""
    found: Counter[Sample] = Counter()
    for place, block in enumerate((answer or {}).get("blocks", ())):
        head = (place, block["type"], block["status"])
        if block["type"] == 0:
            found[(*head, None, None, None, None)] += 1
        ids = block.get("counter_ids", [None])
        for counter, value in zip(ids, block.get("values", ()), strict=False):
            found[(*head, counter, None, None, value)] += 1
        for instance_id, name, values in block.get("instances", ()):
            for counter, value in zip(ids, values, strict=True):
                found[(*head, counter, name, instance_id, value)] += 1
    return found


def _winperf_samples(value: Record) -> Counter[Sample] | None:
    """One key a value: object, counter, instance, value. A block that is cut short asks for nothing."""
    block = value.get("perf_data_block")
    if block is None or block["end_offset"] < block["buffer_length"]:
        return None if block is None else Counter()
    found: Counter[Sample] = Counter()
    for entry in block["objects"]:
        rows = [(None, entry["values"])] if entry.get("values") is not None else []
        rows += [(instance["Name"], instance["values"]) for instance in entry.get("instances") or ()]
        for name, values in rows:
            for counter, raw in zip(entry["counters"], values, strict=True):
                text = bytes.fromhex(raw["hex"]).decode("utf-16-le").split("\0")[0] if isinstance(raw, dict) else raw
                found[(entry["ObjectNameTitleIndex"], counter["CounterNameTitleIndex"], name, text)] += 1
    return found


def _by_call(samples: Sequence[Record]) -> dict[int, Counter[Sample]]:
    grouped: dict[int, Counter[Sample]] = {}
    for sample in samples:
        if sample["source"] == "winperf":
            key: Sample = (sample["object_index"], sample["counter_index"], sample["instance"], sample["raw"])
        else:
            # What a block does not carry itself, a reading may know from other calls; the server's record does not say it.
            counter = sample["counter_id"] if sample["block_type"] in (2, 6) else None
            instance = (sample["instance"], sample["instance_id"]) if sample["block_type"] in (4, 6) else (None, None)
            key = (sample["block"], sample["block_type"], sample["block_status"], counter, *instance, sample["raw"])
        grouped.setdefault(sample["call"], Counter())[key] += 1
    return grouped


def _sample_differences(true: Counter[Sample], read: Counter[Sample]) -> Iterator[str]:
    for word, some in (("missing", true - read), ("invented", read - true)):
        for key in list(some)[:3]:
            yield f"{word} sample {key}" + (f" and {some.total() - 1} more" if some.total() > 1 else "")


def _brief(side: Record | None) -> str:
    return "nothing" if side is None else f"{side['stub_length']} bytes, {str(side['stub_sha256'])[:12]}"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
