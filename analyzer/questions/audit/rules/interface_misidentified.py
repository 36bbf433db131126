"""The interface was bound by another version, or what it does goes by another UUID.

Looks for: binds of PerflibV2 with another version than 1.0; presentation contexts of interfaces that this program does not know,
whose every call reads as one of PerflibV2, and some of which carry what nothing else does.

Why it matters: a server matches UUID and version when the client binds. What calls itself otherwise is another interface, and no
client or server of this one finds it.

Specification: [MS-PCQ] section 1.9 assigns the UUID da5a86c5-12c2-4943-ab30-7f74a813d853; the IDL in section 6 gives version 1.0.

Flagged: a bind of version 2.0; answers of performance data under a UUID that differs in its last digit.

Accepted: the UUID with version 1.0.

Silent: where the bind was not captured, and where calls of another interface are sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.resolution.recognise import interface_carried
from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.analysis import Selected
from analyzer.results.perflib import INTERFACE

UUID, VERSION = "PCQ-1.9-R01", "PCQ-6-R01"

RULE = Rule("PCQ112", "interface-misidentified", Level.RPC, Severity.ERROR)


@RULE.afterwards((UUID, VERSION), about="association", needs_answer="what was bound is in no request")
def look(evidence: Evidence) -> Iterator[Judgement]:
    for bound in evidence.analysis.bounds:
        if bound.interface != INTERFACE:
            continue
        yield passed(UUID)
        version = ".".join(map(str, bound.version))
        if bound.version == (1, 0):
            yield passed(VERSION)
        else:
            message = "the interface was bound by another version"
            yield failed(
                VERSION, None, None, message, expected="1.0", seen=version, frames=bound.frames, channel=bound.channel
            )
    for unbound in evidence.unbound:
        for requirement in (UUID, VERSION):
            yield inconclusive(requirement, "the bind was not captured", unbound)
    for numbers in evidence.index.nameless.values():
        group = [call for _, call in Selected(evidence.analysis.calls, numbers)]
        if interface_carried(group) == "perflib-v2":
            first = evidence.call(numbers[0])
            yield failed(
                UUID,
                first,
                At("request", "pdu"),
                "calls of another interface carry what PerflibV2 does",
                expected=INTERFACE,
                seen=first.decoded.interface.uuid,
                confidence=Confidence.MEDIUM,
            )
