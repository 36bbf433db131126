"""A client asked the endpoint mapper where PerflibV2 is.

Looks for: ept_map calls whose tower names the interface, and where the same client then used it.

Why it matters: the endpoint is fixed. A client that asks for it depends on a service that need not be reachable, and follows
whatever answers it.

Specification: [MS-PCQ] section 2.1: a well-known endpoint, the pipe \\PIPE\\winreg. The endpoint mapper and its towers: C706
appendix I and O, [MS-RPCE] section 2.2.1.2.

Flagged: an ept_map call for da5a86c5-12c2-4943-ab30-7f74a813d853 (a warning), followed by a bind over TCP (a failure).

Accepted: a bind on the pipe with no such question before it.

Silent: where no use of the interface was captured.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from analyzer.core.absence import Missing
from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity, failed, passed, warned
from analyzer.results.call import Call
from analyzer.results.perflib import INTERFACE

REQUIREMENT = "PCQ-2.1-R02"
_MAPPER = "e1af8308-5d1f-11c9-91a4-08002b14a0fa"
_MAP = 3
_UUIDS = (UUID(INTERFACE).bytes_le, UUID(INTERFACE).bytes)

RULE = Rule("PCQ111", "endpoint-was-asked-for", Level.TRANSPORT, Severity.ERROR)


@RULE.afterwards((REQUIREMENT,), about="conversation", needs_answer="what was bound is in no request")
def look(evidence: Evidence) -> Iterator[Judgement]:
    elsewhere: dict[str, int] = {}
    associations = 0
    for bound in evidence.analysis.bounds:
        if bound.interface == INTERFACE:
            associations += 1
            if bound.channel.transport != "ncacn_np":
                elsewhere[bound.channel.client.ip] = min(bound.frames)
    asked: set[str] = set()
    for evident in evidence.calls_of(_MAPPER, _MAP):
        call = evident.decoded
        if not _asks(call):
            continue
        client = call.client.ip
        asked.add(client)
        message = "the client asked the endpoint mapper for an interface whose endpoint is well known"
        if elsewhere.get(client, -1) > min(call.frames):
            yield failed(
                REQUIREMENT,
                evident,
                None,
                f"{message}, and used it elsewhere",
                expected="\\PIPE\\winreg",
                seen="ept_map",
            )
        else:
            yield warned(REQUIREMENT, evident, None, message, expected="\\PIPE\\winreg", seen="ept_map")
    if not asked and associations:
        yield passed(REQUIREMENT, associations)


def _asks(call: Call) -> bool:
    if call.request is None:
        return False
    stub = call.request.stub
    return not isinstance(stub, Missing) and any(uuid in stub.data for uuid in _UUIDS)
