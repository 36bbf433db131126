"""Handles belong to an association group, whichever of its connections a call comes over (C706; [MS-RPCE] section 3.3.1.5.3)."""

from pathlib import Path

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.series.counter_paths import PathSelection
from analyzer.questions.series.counter_records import counter_records
from analyzer.questions.statistics.handle_lifetimes import handle_lifetimes

CAPTURE = Path(__file__).parent / "captures" / "association_group.pcap"


def test_a_handle_that_is_used_over_two_connections_of_a_group_is_one_handle_one_series_and_no_finding() -> None:
    analysis = analyze([CAPTURE], Keyring([UserKey("games", None, nt_hash("rig only, 1 of it"))]))
    assert {(bound.assoc_group_id, bound.joins_group) for bound in analysis.bounds} == {(0x5300, False), (0x5300, True)}
    (lifetime,) = handle_lifetimes(analysis)
    calls = analysis.calls
    assert (lifetime.origin, lifetime.end, set(lifetime.channels)) == ("opened", "closed", {0, 1})
    assert (calls[lifetime.opened - 1].channel, calls[lifetime.closed - 1].channel) == (1, 0)
    assert {one.auth.user for one in calls} == {"LAB\\games"}
    records = list(counter_records(analysis, PathSelection([], {})))
    assert {calls[record.call - 1].channel for record in records} == {0, 1}
    # One series: no sample but the first has none before it.
    first = min(record.call for record in records)
    assert all(record.value is not None for record in records if record.call > first)
    # The interface is that of a pipe; nothing else is wrong.
    assert {finding.rule.code for finding in Audit(analysis).findings()} == {"PCQ110"}
