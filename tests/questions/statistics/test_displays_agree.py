"""What is said of who called is the same wherever it is said: of calls, logons, sums and hosts, in every capture that lies here."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.pipeline.run import analyze
from analyzer.questions.statistics.call_statistics import identity_stats
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.security import ANONYMOUS_LOGON
from tests import truth
from tests.analyses import analysis_of_file
from tests.transport.smb.test_samba_sessions import CAPTURES

PASSWORDS = {"perfmon": "Passw0rd!", "second": "Passw0rd!", "games": "Passw0rd!", "news": "Passw0rd!2"}
KEYS = Keyring([UserKey(name, None, nt_hash(password)) for name, password in PASSWORDS.items()])
READ: dict[str, Callable[[], Analysis]] = {
    path.stem: partial(analyze, [path], KEYS) for path in sorted(CAPTURES.glob("*.pcap"))
}
READ |= {one.file: partial(analysis_of_file, one.file) for one in truth.captures()}


@pytest.mark.parametrize("name", READ)
def test_calls_logons_sums_and_hosts_name_the_same_accounts(name: str) -> None:
    analysis = READ[name]()
    logons = {one.key: one for one in analysis.logons}
    for call in analysis.calls:
        if call.auth.logon is not None:
            assert logons[call.auth.logon].identity.account == call.auth.user
            assert logons[call.auth.logon].first_time_ns <= call.time_ns
        if call.auth.later_logon is not None:
            assert logons[call.auth.later_logon].session == call.session
    called = Counter((one.auth.user, one.auth.claimed_user, one.auth.later_user) for one in analysis.calls)
    summed = Counter[tuple[str | None, ...]]()
    for one in identity_stats(analysis):
        summed[one.user, one.claimed_user, one.later_user] += one.calls
    assert summed == called
    at_hosts = {user for host in host_records(analysis) for user in host.users}
    assert {user for user, _, _ in called} - {None, ANONYMOUS_LOGON} <= at_hosts
