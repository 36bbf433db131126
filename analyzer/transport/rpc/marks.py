"""Binds of DCERPC in, marks of the client's program out (C706 section 12.6.4.3, [MS-RPCE] section 2.2.2).

A mark is `name=value`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.transport.rpc.pdu import Bind, PduHeader, SecTrailer
from analyzer.transport.rpc.syntaxes import is_feature_negotiation, syntax_name

_MOST_CONTEXTS = 8


def bind_marks(header: PduHeader, bind: Bind, trailer: SecTrailer | None) -> Iterator[str]:
    """Of a bind."""
    yield f"rpc.fragments={bind.max_xmit_frag} {bind.max_recv_frag}"
    yield f"rpc.bind=5.{header.minor}, flags {header.flags:#04x}"
    yield f"rpc.bind_call={header.call_id}"
    yield f"rpc.group={'new' if bind.assoc_group_id == 0 else 'known'}"
    offers = [f"{one.context_id}:{'+'.join(map(_syntax, (s.uuid for s in one.transfer)))}" for one in bind.offers]
    yield f"rpc.contexts={' '.join(offers[:_MOST_CONTEXTS])}"
    if trailer is not None:
        yield f"rpc.auth={trailer.auth_type}, level {trailer.level}"
        yield f"rpc.auth_context={trailer.context_id}"
        yield f"rpc.auth_padding={trailer.pad_length}"


def _syntax(uuid: str) -> str:
    return "features" if is_feature_negotiation(uuid) else syntax_name(uuid)


def call_id_marks(bind: int, requests: Sequence[int]) -> Iterator[str]:
    """Of the call ids of a bind and of the first requests after it."""
    yield f"rpc.first_call={requests[0] - bind:+d}"
    if len(requests) > 1:
        yield f"rpc.next_call={requests[1] - requests[0]:+d}"
