"""What carried a side of a call: its frames, the TCP payload and the SMB messages in them as layers, outermost first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from analyzer.core.frames import file_of, number_of
from analyzer.core.traced import TracedBytes
from analyzer.results.call import SideName
from analyzer.results.packets import CapturedFrame, Packets, SmbMessage
from analyzer.results.pdus import Fragments, Pdus, frames_of
from analyzer.results.view import Form, LayerBytes, Node, Run
from analyzer.screens.viewmodel.forms import Forms, fields_of
from analyzer.screens.viewmodel.frame import frame_tree
from analyzer.screens.viewmodel.nodes import raw, structure
from analyzer.screens.viewmodel.runs import place_of, runs_of
from analyzer.screens.viewmodel.smb_fields import message_tree, sent_tree
from analyzer.transport.tcp.recognition import MAGICS


def carrier_layers(
    name: SideName, pdus: Fragments, packets: Packets, forms: Forms | None, *, has_smb: bool
) -> tuple[list[LayerBytes], str | None]:
    """The layers below the PDUs, and why there are none where that is so; `forms` as for `side_views`."""
    frames = frames_of(pdus)
    messages = messages_of(packets, frames, pdus) if has_smb else []
    wanted = sorted({*frames, *(frame for one in messages for frame in one.sent.frames)})
    found = [frame for frame in map(packets.frame, wanted) if frame is not None]
    if len(found) < len(wanted):
        return [], packets.lacking
    layers = [_frame_layer(name, number, frame, forms) for number, frame in enumerate(found, 1)]
    if has_smb:
        layers += _smb_layers(name, messages, forms)
    elif pdus:
        layers.append(_stream_layer(name, pdus, forms))
    return layers, None


def messages_of(packets: Packets, frames: Iterable[int], pdus: Fragments) -> list[SmbMessage]:
    """The messages that carried bytes of these PDUs."""
    carried: dict[int, list[tuple[int, int]]] = {}
    for one in (pdus.whole,) if isinstance(pdus, Pdus) else [each.pdu for each in pdus]:
        for extent in one.extents():
            carried.setdefault(extent.frame, []).append((extent.start, extent.start + extent.length))
    return [
        message
        for message in packets.messages(frames)
        if any(
            extent.start < stop and start < extent.start + extent.length
            for extent in message.message.extents()
            for start, stop in carried.get(extent.frame, ())
        )
    ]


def _frame_layer(name: SideName, number: int, frame: CapturedFrame, forms: Forms | None) -> LayerBytes:
    length = len(frame.data)
    cut = frame.original_length > length
    fields = fields_of(forms, ("frame", frame.link_type), frame.data, lambda: Form(frame_tree(frame)))
    if cut:
        fields["problem"] = f"{length} of {frame.original_length} bytes were captured"
    return LayerBytes(
        id=f"{name}.frame{number}",
        kind="frame",
        title=f"Frame {number_of(frame.frame)}",
        data=frame.data,
        runs=(Run(0, length, number_of(frame.frame), file_of(frame.frame), 0, length),),
        steps=(),
        **fields,
    )


def _smb_layers(name: SideName, messages: Sequence[SmbMessage], forms: Forms | None) -> Iterator[LayerBytes]:
    """Each message as TCP carried it, then each as it could be read."""
    sent: list[LayerBytes] = []
    read: list[LayerBytes] = []
    for number, message in enumerate(messages, 1):
        place = f" {number} of {len(messages)}" if len(messages) > 1 else ""
        carried, data = message.sent.data, message.message.data
        is_framed = carried[:4] not in MAGICS
        key = "sent", is_framed, carried[4:8] if is_framed else carried[:4]
        fields = fields_of(forms, key, carried, partial(_sent_form, carried, is_framed=is_framed))
        if message.reason:
            fields["problem"] = f"bytes are missing: {message.reason}"
        sent.append(
            LayerBytes(
                id=f"{name}.tcp{number}",
                kind="tcp",
                title=f"TCP payload{place}",
                data=carried,
                runs=runs_of(message.sent),
                steps=message.sent.steps,
                **fields,
            )
        )
        runs = runs_of(message.message)
        parent = place_of(message.message, runs, sent)
        read.append(
            LayerBytes(
                id=f"{name}.smb{number}",
                kind="smb",
                title=f"SMB message{place}",
                data=data,
                runs=runs,
                steps=message.message.steps,
                parent=parent[0] if parent is not None else None,
                offset=parent[1] if parent is not None else 0,
                **fields_of(forms, ("message", data[:4]), data, partial(_message_form, data)),
            )
        )
    yield from sent
    yield from read


def _sent_form(data: bytes, *, is_framed: bool) -> Form:
    return Form(sent_tree(data, is_framed=is_framed))


def _message_form(data: bytes) -> Form:
    return Form(message_tree(data))


def _stream_layer(name: SideName, pdus: Fragments, forms: Forms | None) -> LayerBytes:
    """PDUs that TCP carries without SMB follow each other in its stream ([C706] chapter 12)."""
    whole = TracedBytes.join([one.pdu for one in pdus])
    data = whole.data
    children: list[Node] = []
    at = 0
    for one in pdus:
        children += raw(data, "pdu", at, at + len(one.pdu))
        at += len(one.pdu)
    tree = structure("tcp_payload", "TCP payload", 0, len(data), "RFC 9293", children)
    return LayerBytes(
        id=f"{name}.tcp1",
        kind="tcp",
        title="TCP payload",
        data=data,
        runs=runs_of(whole),
        steps=whole.steps,
        **fields_of(forms, ("stream", *(node.length for node in children)), data, lambda: Form(tree)),
    )
