"""Crosschecks our DCERPC PDUs and pairings with tshark's, PDU by PDU: events and the file in, a `CrosscheckResult` out.

tshark reads the file in two passes, with its own reassembly and no keys. PDUs are equal if type, call id and length agree, and if
tshark shows the PDU in one of our frames (or, for a copy of a frame, near by). If not, tshark's own remarks on the frames are the
reason given: what it found malformed, or TCP segments it took for lost or repeated. By default tshark does not sort segments
(`tcp.reassemble_out_of_order`); with `out_of_order` it is asked to.

A difference is of one of two kinds. tshark lacks what it needs to see what we see: a key, the bind of the association, the order or
the bytes of segments, NDR64 (which it does not pair). Or it contradicts us: it shows something else, or sees what we do not. Only a
contradiction says that one of the two is wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from analyzer.core.errors import InputError
from analyzer.core.frame_ids import number_of
from analyzer.core.printable_text import text_of_path
from analyzer.results.calls.call import Call
from analyzer.results.connection import Bound, Pdu
from analyzer.transport.packet.tshark_engine import Complaint, in_thread, open_capture, packets
from analyzer.transport.rpc.pdu import Ptype

# Copies of a frame (mirror ports, retransmissions) stand near their first; farther away the same numbers are another PDU.
_NEAR = 64
# RTS belongs to RPC over HTTP and is known by its number.
_TYPES = {kind: name.lower() for kind, name in Ptype.names.items() if kind != Ptype.RTS}
# Words of tshark's expert information about TCP segments: "Previous segment(s) not captured", "out-of-order segment",
# "suspected retransmission", "New fragment overlaps old data", "ACKed segment that wasn't captured".
_ABOUT_SEGMENTS = ("captured", "out-of-order", "retransmission", "overlap", "duplicate", "unreassembled")
# The frames with DCERPC, those tshark has a remark on, and those whose SMB3 encryption it would need a key for.
_FILTER = "dcerpc or _ws.expert or smb2.header.transform.msg_size"


class SeenPdu(Struct, frozen=True):
    """A DCERPC PDU as we or tshark show it. tshark names one frame, we all that carried it."""

    ptype: int
    call_id: int
    flags: int
    length: int
    frames: tuple[int, ...]

    def __str__(self) -> str:
        name = _TYPES.get(self.ptype, f"type {self.ptype}")
        return f"frame {_listed(self.frames)}: {name}, call {self.call_id}, {self.length} bytes"

    def to_json(self) -> dict[str, Any]:
        return {
            "ptype": self.ptype,
            "type": _TYPES.get(self.ptype),
            "call_id": self.call_id,
            "flags": self.flags,
            "length": self.length,
            "frames": list(self.frames),
        }


class PduDifference(Struct, frozen=True):
    """A DCERPC PDU that only we or only tshark shows; `reason` is made of tshark's remarks. If it does not contradict, tshark lacks
    what it needs to see the PDU."""

    pdu: SeenPdu
    reason: str
    contradicts: bool


class PairingDifference(Struct, frozen=True):
    """A request and a response paired differently: our frames (empty: no pair of ours), and tshark's (None: no pair). `lacks` says
    what tshark would need to pair them as we do; None where it contradicts."""

    call_id: int
    request: tuple[int, ...]
    response: tuple[int, ...]
    tshark_request: int | None
    tshark_response: int | None
    lacks: str | None = None

    @property
    def contradicts(self) -> bool:
        return self.lacks is None

    def __str__(self) -> str:
        ours = f"{_listed(self.request) or 'none'} -> {_listed(self.response) or 'none'}"
        if self.tshark_request is None and self.tshark_response is None:
            theirs = "does not pair them"
        else:
            theirs = f"pairs {self.tshark_request} -> {self.tshark_response}"
        return f"call {self.call_id}: ours {ours}, tshark {theirs}" + (f"; {self.lacks}" if self.lacks else "")


class CrosscheckResult(Struct, frozen=True):
    """The result of a crosscheck: agreements and differences between tshark and us."""

    path: str
    out_of_order: bool
    same: int
    same_by_type: tuple[tuple[str, int], ...]
    only_ours: tuple[PduDifference, ...]
    only_tshark: tuple[PduDifference, ...]
    pairings_same: int
    pairings_different: tuple[PairingDifference, ...]
    complaint: str | None

    @property
    def contradictions(self) -> int:
        """Returns how many differences between tshark and us are contradictions."""
        differences: list[PduDifference | PairingDifference] = [
            *self.only_ours,
            *self.only_tshark,
            *self.pairings_different,
        ]
        return sum(difference.contradicts for difference in differences)

    @property
    def agrees(self) -> bool:
        """Whether nothing that tshark shows contradicts our PDUs."""
        return not self.contradictions

    def to_text(self) -> str:
        order = "sorting" if self.out_of_order else "not sorting"
        lines = [f"{self.path}, beside tshark {order} TCP segments (tcp.reassemble_out_of_order)"]
        counts = ", ".join(f"{count} {name}" for name, count in self.same_by_type)
        lines.append(f"{self.same} PDUs the same" + (f" ({counts})" if counts else ""))
        for title, differences in (("only ours", self.only_ours), ("only tshark's", self.only_tshark)):
            lines.append(f"{len(differences)} {title}")
            lines += [f"  {_kind(difference)}  {difference.pdu}; {difference.reason}" for difference in differences]
        lines.append(f"{self.pairings_same} pairings the same, {len(self.pairings_different)} different")
        lines += [f"  {_kind(difference)}  {difference}" for difference in self.pairings_different]
        count = self.contradictions
        total = len(self.only_ours) + len(self.only_tshark) + len(self.pairings_different)
        if total:
            lines.append(
                f"{count} of {total} differences contradict; the others are what tshark lacks the knowledge for"
            )
        if self.complaint is not None:
            lines.append(f"tshark: {self.complaint}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        return {
            "record": "crosscheck",
            "schema": 1,
            "file": self.path,
            "out_of_order": self.out_of_order,
            "agrees": self.agrees,
            "contradictions": self.contradictions,
            "same": self.same,
            "same_by_type": dict(self.same_by_type),
            "only_ours": [_difference_json(entry) for entry in self.only_ours],
            "only_tshark": [_difference_json(entry) for entry in self.only_tshark],
            "pairings_same": self.pairings_same,
            "pairings_different": [
                {
                    "call_id": entry.call_id,
                    "request": list(entry.request),
                    "response": list(entry.response),
                    "tshark_request": entry.tshark_request,
                    "tshark_response": entry.tshark_response,
                    "kind": _kind(entry),
                    "reason": entry.lacks,
                }
                for entry in self.pairings_different
            ],
            "complaint": self.complaint,
        }


def _kind(difference: PduDifference | PairingDifference) -> str:
    return "contradicts" if difference.contradicts else "lacks"


def _difference_json(entry: PduDifference) -> dict[str, Any]:
    return entry.pdu.to_json() | {"kind": _kind(entry), "reason": entry.reason}


def crosscheck(
    path: str | Path,
    pdus: Iterable[Pdu],
    calls: Iterable[Call],
    bounds: Iterable[Bound],
    *,
    out_of_order: bool = False,
    preferences: Mapping[str, str] | None = None,
    tshark_path: str | None = None,
) -> CrosscheckResult:
    """Compares our PDUs and calls of one file with tshark's.

    `bounds` are the presentation contexts whose bind is in the file. `preferences` are passed to tshark (`-o name:value`). Raises
    `InputError` without tshark, or for a file that it cannot open.
    """
    theirs = _Theirs()
    for packet in in_thread(lambda: _ask(Path(path), out_of_order, preferences or {}, tshark_path)):
        theirs.take_frame(packet)
    if theirs.complaint is not None and not theirs.frames:
        raise InputError(f"tshark: {theirs.complaint}")
    bound = {each.channel.number for each in bounds}
    ours: list[SeenPdu] = []
    unbound: set[SeenPdu] = set()
    for pdu in pdus:
        seen = SeenPdu(pdu.ptype, pdu.call_id, pdu.flags, pdu.length, tuple(number_of(frame) for frame in pdu.frames))
        ours.append(seen)
        if pdu.channel.number not in bound:
            unbound.add(seen)
    same, only_ours, only_tshark = _compare(ours, theirs.pdus)
    types = Counter(_TYPES.get(pdu.ptype, f"type {pdu.ptype}") for pdu, _ in same)
    # A PDU of several segments: tshark names the frame it was whole in, which need not be one of ours.
    shown_in = {(pdu.call_id, shown.frames[0]): pdu.frames for pdu, shown in same}
    hidden = {frame for pdu in only_ours for frame in pdu.frames}
    paired, different = _compare_pairs(calls, theirs.pairs, shown_in, bound, hidden, theirs)
    return CrosscheckResult(
        path=text_of_path(path),
        out_of_order=out_of_order,
        same=len(same),
        same_by_type=tuple(sorted(types.items(), key=lambda entry: (-entry[1], entry[0]))),
        only_ours=tuple(theirs.why_not(pdu, out_of_order, is_bound=pdu not in unbound) for pdu in only_ours),
        only_tshark=tuple(PduDifference(pdu, theirs.remark(pdu.frames) or "no remark", True) for pdu in only_tshark),
        pairings_same=paired,
        pairings_different=tuple(different),
        complaint=theirs.complaint,
    )


class _ShownFrame(Struct, frozen=True):
    """One frame as tshark shows it."""

    frame: int
    protocols: str
    layers: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...]


def _ask(
    path: Path, out_of_order: bool, preferences: Mapping[str, str], tshark_path: str | None
) -> Iterator[_ShownFrame | Complaint]:
    chosen = {"tcp.reassemble_out_of_order": "TRUE" if out_of_order else "FALSE", **preferences}
    capture = open_capture(
        path,
        tshark_path,
        use_json=True,
        display_filter=_FILTER,
        override_prefs=chosen,
        custom_parameters=["-2", "-J", "frame tcp dcerpc _ws.malformed"],
    )
    for packet in packets(capture):
        if isinstance(packet, Complaint):
            yield packet
            continue
        layers: list[dict[str, Any]] = []
        remarks: list[str] = []
        for layer in packet.layers:
            found = [each._all_fields for each in (layer, *layer.duplicate_layers)]
            if layer.layer_name == "dcerpc":
                layers += found
            if layer.layer_name == "_ws.malformed":
                remarks.append("Malformed Packet")
            for fields in found:
                remarks += _expert_messages(fields)
        protocols = str(packet.frame_info._all_fields.get("frame.protocols", ""))
        yield _ShownFrame(int(packet.number), protocols, tuple(layers), tuple(dict.fromkeys(remarks)))


def _expert_messages(fields: object) -> Iterator[str]:
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            if name == "_ws.expert.message":
                yield from [value] if isinstance(value, str) else value
            else:
                yield from _expert_messages(value)
    elif isinstance(fields, list):
        for value in fields:
            yield from _expert_messages(value)


class _Theirs:
    """Collects what tshark shows of a capture."""

    def __init__(self) -> None:
        self.pdus: list[SeenPdu] = []
        self.frames: dict[int, _ShownFrame] = {}
        # Call id, frame of the request, frame of the response.
        self.pairs: set[tuple[int, int, int]] = set()
        self.complaint: str | None = None

    def take_frame(self, shown: _ShownFrame | Complaint) -> None:
        if isinstance(shown, Complaint):
            self.complaint = shown.text
            return
        self.frames[shown.frame] = _ShownFrame(shown.frame, shown.protocols, (), shown.remarks)
        for fields in shown.layers:
            # Version 4 is the connectionless protocol; fragments of it are none of ours.
            if fields.get("dcerpc.ver") != "5" or "dcerpc.pkt_type" not in fields:
                continue
            ptype, call_id = int(fields["dcerpc.pkt_type"]), int(fields.get("dcerpc.cn_call_id", 0))
            flags, length = int(fields.get("dcerpc.cn_flags", "0"), 0), int(fields.get("dcerpc.cn_frag_len", 0))
            self.pdus.append(SeenPdu(ptype, call_id, flags, length, (shown.frame,)))
            if ptype == Ptype.REQUEST and (answer := _frame_number(fields, "dcerpc.response_in")) is not None:
                self.pairs.add((call_id, shown.frame, answer))
            elif (
                ptype in (Ptype.RESPONSE, Ptype.FAULT)
                and (asked := _frame_number(fields, "dcerpc.request_in")) is not None
            ):
                self.pairs.add((call_id, asked, shown.frame))

    def remark(self, frames: tuple[int, ...]) -> str:
        stated = [remark for frame in frames if frame in self.frames for remark in self.frames[frame].remarks]
        return "tshark says: " + "; ".join(dict.fromkeys(stated)) if stated else ""

    def why_not(self, pdu: SeenPdu, out_of_order: bool, *, is_bound: bool) -> PduDifference:
        """Returns why tshark does not show one of our PDUs."""
        if remark := self.remark(pdu.frames):
            suffix = "" if out_of_order else " (tcp.reassemble_out_of_order is off)"
            return PduDifference(pdu, remark + suffix, not _is_about_segments(remark))
        known = [self.frames[frame] for frame in pdu.frames if frame in self.frames]
        if any("dcerpc" not in shown.protocols.split(":") for shown in known):
            return PduDifference(pdu, "inside SMB3 encryption, for which tshark was given no key", False)
        if known:
            return PduDifference(pdu, "tshark shows other DCERPC in this frame", True)
        if not is_bound:
            text = "the bind is not in the capture, without which tshark does not look for DCERPC here"
            return PduDifference(pdu, text, False)
        holes = [
            shown.frame
            for shown in self.frames.values()
            if shown.frame < min(pdu.frames, default=0) and any("not captured" in remark for remark in shown.remarks)
        ]
        if holes and out_of_order:
            text = (
                f"tshark shows no DCERPC in this frame; it may be waiting since frame {max(holes)} for a lost segment"
            )
            return PduDifference(pdu, text, False)
        return PduDifference(pdu, "tshark shows no DCERPC in this frame and says nothing about it", True)


def _is_about_segments(remark: str) -> bool:
    """Whether tshark says that segments are lost, repeated or out of order; its remarks about DCERPC do not count."""
    return any(word in remark.lower() for word in _ABOUT_SEGMENTS)


def _frame_number(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if isinstance(value, list):
        value = value[0] if value else None
    return int(value) if value is not None else None


def _compare(
    ours: list[SeenPdu], theirs: list[SeenPdu]
) -> tuple[list[tuple[SeenPdu, SeenPdu]], list[SeenPdu], list[SeenPdu]]:
    """Compares PDUs: returns those of both, of us alone, of tshark alone. Those in a common frame are matched before those near
    by."""
    waiting: dict[tuple[int, int, int], list[SeenPdu]] = defaultdict(list)
    for pdu in theirs:
        waiting[pdu.ptype, pdu.call_id, pdu.length].append(pdu)
    same: list[tuple[SeenPdu, SeenPdu]] = []
    left: list[SeenPdu] = []
    for pdu in ours:
        candidates = waiting[pdu.ptype, pdu.call_id, pdu.length]
        match = next((other for other in candidates if other.frames[0] in pdu.frames), None)
        if match is None:
            left.append(pdu)
        else:
            candidates.remove(match)
            same.append((pdu, match))
    only_ours: list[SeenPdu] = []
    for pdu in left:
        candidates = waiting[pdu.ptype, pdu.call_id, pdu.length]
        last = max(pdu.frames, default=0)
        match = min(candidates, key=lambda other: abs(other.frames[0] - last), default=None)
        if match is None or abs(match.frames[0] - last) > _NEAR:
            only_ours.append(pdu)
        else:
            candidates.remove(match)
            same.append((pdu, match))
    only_theirs = sorted((pdu for pdus in waiting.values() for pdu in pdus), key=lambda pdu: pdu.frames)
    return same, only_ours, only_theirs


def _compare_pairs(
    calls: Iterable[Call],
    pairs: set[tuple[int, int, int]],
    shown_in: Mapping[tuple[int, int], tuple[int, ...]],
    bound: set[int],
    hidden: set[int],
    theirs: _Theirs,
) -> tuple[int, list[PairingDifference]]:
    by_call: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for call_id, *pair_frames in pairs:
        by_call[call_id].add((pair_frames[0], pair_frames[1]))
    used: set[tuple[int, int, int]] = set()
    same = 0
    different: list[PairingDifference] = []
    for call in calls:
        if call.request is None or call.response is None:
            continue
        request = tuple(number_of(frame) for frame in call.request.frames)
        response = tuple(number_of(frame) for frame in call.response.frames)
        near: list[tuple[int, int]] = []
        agreed = False
        for pair in by_call[call.call_id]:
            one = not {pair[0], *shown_in.get((call.call_id, pair[0]), ())}.isdisjoint(request)
            two = not {pair[1], *shown_in.get((call.call_id, pair[1]), ())}.isdisjoint(response)
            agreed = agreed or (one and two)
            if one or two:
                near.append(pair)
        used.update((call.call_id, *pair) for pair in near)
        if agreed:
            same += 1
            continue
        asked: int | None = None
        answered: int | None = None
        if near:
            asked, answered = min(near)
        lacks = None
        if not near:
            if call.channel not in bound:
                lacks = "the bind is not in the capture, without which tshark pairs nothing"
            elif call.syntax == "ndr64":
                lacks = "tshark does not pair calls in NDR64"
            elif not hidden.isdisjoint((*request, *response)):
                lacks = "tshark does not show one of the two"
            elif _is_about_segments(remark := theirs.remark((*request, *response))):
                lacks = remark
        different.append(PairingDifference(call.call_id, request, response, asked, answered, lacks))
    for call_id, *frames in sorted(pairs - used, key=lambda pair: pair[1:]):
        different.append(PairingDifference(call_id, (), (), frames[0], frames[1]))
    return same, different


def _listed(frames: tuple[int, ...]) -> str:
    return ", ".join(map(str, frames[:4])) + (" ..." if len(frames) > 4 else "")
