"""What both ends protected is opened again; what was changed, lost or never sealed is stated to be so."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzer.auth import ntlm_context
from analyzer.auth.hmac_key import Hmac
from analyzer.auth.keyring import Keyring
from analyzer.auth.keytab import KerberosKey
from analyzer.auth.ntlm_context import _Keystream
from analyzer.auth.security_context import SearchBudget
from analyzer.results.security import Decryption
from tests.auth.test_token_handshake import followed
from tests.build.auth import (
    ESS,
    INTEGRITY,
    KEY_56,
    KEY_128,
    KEY_EXCH,
    LM_KEY,
    PKT,
    PRIVACY,
    USUAL_FLAGS,
    KerberosConversation,
    NtlmConversation,
    Rc4,
    Sender,
    kerberos_handshake,
    ntlm_handshake,
    protected_pdu,
)

PASSWORD = "correct horse"
RING = Keyring.build(passwords=[PASSWORD])


def bodies(count: int = 6) -> list[tuple[Sender, bytes]]:
    return [("initiator" if at % 2 == 0 else "acceptor", bytes([at]) * (16 + 8 * at)) for at in range(count)]


@pytest.mark.parametrize("level", [PKT, INTEGRITY, PRIVACY])
@pytest.mark.parametrize("header_signed", [True, False])
@pytest.mark.parametrize("spnego", [False, True])
@pytest.mark.parametrize(
    "flags",
    [
        USUAL_FLAGS,
        USUAL_FLAGS & ~KEY_EXCH,
        USUAL_FLAGS & ~KEY_128,
        USUAL_FLAGS & ~KEY_128 & ~KEY_56,
        USUAL_FLAGS & ~ESS,
        USUAL_FLAGS & ~ESS & ~KEY_128 | LM_KEY,
        USUAL_FLAGS & ~ESS & ~KEY_128 & ~KEY_56 | LM_KEY,
        USUAL_FLAGS & ~1,
    ],
    ids=["usual", "no-key-exch", "56", "40", "no-ess", "lm-56", "lm-40", "oem"],
)
def test_ntlm_messages_are_opened_in_both_directions(level: int, header_signed: bool, spnego: bool, flags: int) -> None:
    conversation = ntlm_handshake(flags=flags, spnego=spnego)
    context = followed(conversation).context()
    for sender, body in bodies():
        pdu, where, verifier = protected_pdu(conversation, sender, body, level=level, header_signed=header_signed)
        assert (pdu[where] == body) is (level != PRIVACY)
        result = context.open(sender, level, pdu, where, verifier)
        assert (result.body, result.verified, result.header_signed) == (body, True, header_signed)
        assert result.decryption is (Decryption.DECRYPTED if level == PRIVACY else Decryption.NOT_SEALED)


@pytest.mark.parametrize("level", [PKT, INTEGRITY, PRIVACY])
@pytest.mark.parametrize("header_signed", [True, False])
@pytest.mark.parametrize("etype", [17, 18, 19, 20, 23])
def test_kerberos_messages_are_opened_in_both_directions(level: int, header_signed: bool, etype: int) -> None:
    conversation = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=etype)
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)
    handshake = followed(conversation, Keyring(kerberos_keys=[key]))
    assert handshake.decryption is Decryption.DECRYPTED
    assert handshake.session_key == conversation.session_key
    context = handshake.context()
    for sender, body in bodies():
        pdu, where, verifier = protected_pdu(conversation, sender, body, level=level, header_signed=header_signed)
        result = context.open(sender, level, pdu, where, verifier)
        assert (result.body, result.verified, result.header_signed) == (body, True, header_signed)


@settings(max_examples=40)
@given(st.integers(0, 80), st.sampled_from([17, 18, 19, 20]))
def test_bodies_of_any_length_are_opened(length: int, etype: int) -> None:
    conversation = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=etype, filler=length % 17)
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)
    context = followed(conversation, Keyring(kerberos_keys=[key])).context()
    body = bytes(range(length))
    pdu, where, verifier = protected_pdu(conversation, "acceptor", body)
    assert context.open("acceptor", PRIVACY, pdu, where, verifier).body == body


def test_a_changed_message_costs_only_itself() -> None:
    for conversation, keyring in (
        (ntlm_handshake(), RING),
        (
            kerberos_handshake(),
            Keyring(
                kerberos_keys=[KerberosKey("host/srv.lab.test", "LAB.TEST", 18, 2, kerberos_handshake().service_key)]
            ),
        ),
    ):
        context = followed(conversation, keyring).context()
        for number in range(12):
            pdu, where, verifier = protected_pdu(conversation, "initiator", bytes([number]) * 40)
            if number in (0, 4, 5, 9):
                damaged = bytearray(pdu)
                damaged[where.start + 3] ^= 1
                result = context.open("initiator", PRIVACY, bytes(damaged), where, verifier)
                assert (result.body, result.verified, result.decryption) == (None, False, Decryption.WRONG_KEY)
                assert result.reason is not None
                assert "checksum" in result.reason
            else:
                result = context.open("initiator", PRIVACY, pdu, where, verifier)
                assert (result.body, result.verified) == (bytes([number]) * 40, True)


def test_a_changed_message_that_was_only_signed_is_shown_unverified() -> None:
    conversation = ntlm_handshake()
    context = followed(conversation).context()
    pdu, where, verifier = protected_pdu(conversation, "initiator", b"in clear" * 4, level=INTEGRITY)
    damaged = pdu.replace(b"in clear", b"IN CLEAR", 1)
    result = context.open("initiator", INTEGRITY, damaged, where, verifier)
    assert (result.body, result.verified, result.decryption) == (damaged[where], False, Decryption.NOT_SEALED)
    pdu, where, verifier = protected_pdu(conversation, "initiator", b"in clear" * 4, level=INTEGRITY)
    assert context.open("initiator", INTEGRITY, pdu, where, verifier).verified is True


@pytest.mark.parametrize("reported", ["exactly", "unknown", "not at all"])
@pytest.mark.parametrize("header_signed", [True, False])
@pytest.mark.parametrize("flags", [USUAL_FLAGS, USUAL_FLAGS & ~KEY_EXCH])
def test_the_keystream_is_found_again_after_a_loss(reported: str, header_signed: bool, flags: int) -> None:
    conversation = ntlm_handshake(flags=flags)
    context = followed(conversation).context()
    sizes = [32, 100, 1000, 64, 4280, 16, 320, 52, 5000, 8]
    lost = {2, 3, 4, 7}
    for number, size in enumerate(sizes):
        body = bytes([number]) * size
        pdu, where, verifier = protected_pdu(conversation, "acceptor", body, header_signed=header_signed)
        if number in lost:
            if reported != "not at all":
                context.lost("acceptor", len(pdu) if reported == "exactly" else None)
            continue
        result = context.open("acceptor", PRIVACY, pdu, where, verifier)
        assert (result.body, result.verified, result.decryption) == (body, True, Decryption.DECRYPTED)


def test_the_shared_keystream_without_extended_security_is_found_again() -> None:
    conversation = ntlm_handshake(flags=USUAL_FLAGS & ~ESS)
    context = followed(conversation).context()
    for number, (sender, body) in enumerate(bodies(10)):
        pdu, where, verifier = protected_pdu(conversation, sender, body)
        if number in (3, 4):
            context.lost(sender, len(pdu))
            continue
        assert context.open(sender, PRIVACY, pdu, where, verifier).body == body


def test_a_loss_beyond_every_bound_says_bytes_are_missing_and_stays_cheap() -> None:
    conversation = ntlm_handshake()
    context = followed(conversation).context()
    lost = 0
    for _ in range(400):
        pdu, where, verifier = protected_pdu(conversation, "acceptor", bytes(8000))
        lost += len(pdu)
    for _ in range(3):
        pdu, where, verifier = protected_pdu(conversation, "acceptor", bytes(64))
        result = context.open("acceptor", PRIVACY, pdu, where, verifier)
        assert (result.body, result.decryption) == (None, Decryption.BYTES_MISSING)
    context.lost("acceptor", lost)
    pdu, where, verifier = protected_pdu(conversation, "acceptor", b"found" * 8)
    assert context.open("acceptor", PRIVACY, pdu, where, verifier).body == b"found" * 8


@pytest.mark.parametrize("bit", range(16, 32))
def test_a_number_that_is_only_claimed_makes_no_keystream_without_bound(
    bit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = ntlm_handshake()
    context = followed(conversation).context(SearchBudget(tries=100))
    reached = [0]
    original = _Keystream.at

    def at(self: _Keystream, position: int, length: int, ahead: int = 0) -> bytes:
        reached.append(position + length)
        assert position <= 1 << 26
        return original(self, position, length, ahead)

    monkeypatch.setattr(_Keystream, "at", at)
    for _ in range(3):
        pdu, where, verifier = protected_pdu(conversation, "initiator", b"in clear", level=INTEGRITY)
        forged = bytearray(pdu)
        forged[verifier.start + 12 + bit // 8] ^= 1 << bit % 8
        result = context.open("initiator", INTEGRITY, bytes(forged), where, verifier)
        assert (result.body, result.verified) == (b"in clear", False)
    pdu, where, verifier = protected_pdu(conversation, "initiator", b"in clear", level=INTEGRITY)
    assert context.open("initiator", INTEGRITY, pdu, where, verifier).verified is True


def test_keystream_that_a_search_made_is_let_go_and_paid_for() -> None:
    search = SearchBudget()
    conversation = ntlm_handshake()
    context = followed(conversation).context(search)
    for claimed in (1 << 21, 1 << 22):
        pdu, where, verifier = protected_pdu(conversation, "initiator", b"in clear", level=INTEGRITY)
        forged = bytearray(pdu)
        forged[verifier.start + 12 : verifier.start + 16] = claimed.to_bytes(4, "little")
        before = search.keystream
        context.open("initiator", INTEGRITY, bytes(forged), where, verifier)
        assert search.keystream < before - (8 * claimed >> 1)
        (stream,) = (each for each in context._streams.values() if each.failed_count)  # type: ignore[attr-defined]
        assert len(stream.keystream._buffer) < 1 << 19


def test_all_contexts_of_an_analysis_share_what_searches_may_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [0]
    original = Hmac.digest

    def digest(self: Hmac, data: bytes) -> bytes:
        tried[0] += 1
        return original(self, data)

    search = SearchBudget(tries=5000)
    conversations = [ntlm_handshake() for _ in range(12)]
    contexts = [followed(each).context(search) for each in conversations]
    monkeypatch.setattr(Hmac, "digest", digest)
    results = []
    for conversation, context in zip(conversations, contexts, strict=True):
        context.lost("acceptor", None)
        for _ in range(3):
            pdu, where, verifier = protected_pdu(conversation, "acceptor", bytes(40))
            damaged = bytes([*pdu[: where.start], pdu[where.start] ^ 1, *pdu[where.start + 1 :]])
            results.append(context.open("acceptor", PRIVACY, damaged, where, verifier))
    # Each place is tried with and without the header; the messages themselves earn a few tries.
    assert tried[0] < 2 * 5000 + 5000
    assert search.given_up > 0
    assert all(result.body is None for result in results)
    assert "not looked for to the end" in str(results[-1].reason)


def test_a_shared_keystream_that_is_not_found_again_says_so() -> None:
    conversation = ntlm_handshake(flags=USUAL_FLAGS & ~ESS)
    context = followed(conversation).context(SearchBudget(tries=20, keystream=1 << 16))
    for _ in range(2):
        pdu, where, verifier = protected_pdu(conversation, "initiator", bytes(5000))
    result = context.open("initiator", PRIVACY, pdu, where, verifier)
    assert (result.body, result.decryption) == (None, Decryption.WRONG_KEY)
    context.lost("initiator", 5000)
    result = context.open("initiator", PRIVACY, bytes(len(pdu) - 16) + pdu[-16:], where, verifier)
    assert (
        result.reason
        == "messages before it were not captured and its place in the keystream was not looked for to the end"
    )


def test_places_of_the_latest_messages_alone_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntlm_context, "_REMEMBERED", 3)
    conversation = ntlm_handshake()
    context = followed(conversation).context()
    made = [protected_pdu(conversation, "initiator", bytes([number]) * 16) for number in range(5)]
    for pdu, where, verifier in made:
        assert context.open("initiator", PRIVACY, pdu, where, verifier).verified is True
    repeated = [context.open("initiator", PRIVACY, *one).verified for one in (made[4], made[0])]
    assert repeated == [True, False]


def test_a_place_that_is_no_multiple_of_four_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntlm_context, "_SEARCH_AHEAD", 256)
    conversation = ntlm_handshake()
    context = followed(conversation).context()
    for size in (16, 17, 6):
        pdu, where, verifier = protected_pdu(conversation, "initiator", bytes(size))
        if size == 17:
            context.lost("initiator", None)
        else:
            assert context.open("initiator", PRIVACY, pdu, where, verifier).verified is True


def test_a_message_that_comes_twice_is_opened_twice() -> None:
    conversation = ntlm_handshake()
    context = followed(conversation).context()
    kept = [protected_pdu(conversation, "initiator", bytes([at]) * 24) for at in range(5)]
    for at in (0, 1, 1, 2, 0, 3, 3, 4):
        pdu, where, verifier = kept[at]
        assert context.open("initiator", PRIVACY, pdu, where, verifier).body == bytes([at]) * 24


def test_a_message_that_overtakes_another_does_not_lose_it() -> None:
    conversation = ntlm_handshake()
    context = followed(conversation).context()
    kept = [protected_pdu(conversation, "initiator", bytes([at]) * 24) for at in range(5)]
    for at in (0, 2, 3, 4):
        pdu, where, verifier = kept[at]
        assert context.open("initiator", PRIVACY, pdu, where, verifier).body == bytes([at]) * 24


@pytest.mark.parametrize(
    ("initiator_subkey", "acceptor_subkey", "ticket", "session"),
    [
        (None, None, 18, None),
        (17, None, 18, None),
        (23, 18, 23, None),
        (18, 18, 20, 20),
        (17, 18, 23, 17),
        (None, 23, 18, None),
    ],
)
def test_subkeys_may_be_of_another_type(
    initiator_subkey: int | None, acceptor_subkey: int | None, ticket: int, session: int | None
) -> None:
    conversation = kerberos_handshake(
        etype=ticket, session_etype=session, initiator_subkey=initiator_subkey, acceptor_subkey=acceptor_subkey
    )
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", ticket, 2, conversation.service_key)
    handshake = followed(conversation, Keyring(kerberos_keys=[key]))
    assert handshake.session_key == conversation.session_key
    context = handshake.context()
    for sender, body in bodies():
        pdu, where, verifier = protected_pdu(conversation, sender, body)
        assert context.open(sender, PRIVACY, pdu, where, verifier).body == body


def test_levels_below_packet_return_the_body_as_it_is() -> None:
    context = followed(ntlm_handshake()).context()
    result = context.open("initiator", 2, b"header" + b"body", slice(6, 10), slice(10, 10))
    assert (result.body, result.verified, result.decryption) == (b"body", None, Decryption.NOT_SEALED)


def test_the_missing_key_is_named_for_every_sealed_message() -> None:
    conversation = ntlm_handshake()
    context = followed(conversation, Keyring()).context()
    pdu, where, verifier = protected_pdu(conversation, "initiator", b"x" * 16)
    result = context.open("initiator", PRIVACY, pdu, where, verifier)
    assert (result.body, result.decryption) == (None, Decryption.NO_KEY)
    assert result.reason == "no password or NT hash given for LAB\\perfmon"
    pdu, where, verifier = protected_pdu(conversation, "initiator", b"x" * 16, level=INTEGRITY)
    result = context.open("initiator", INTEGRITY, pdu, where, verifier)
    assert (result.body, result.verified, result.decryption) == (b"x" * 16, None, Decryption.NOT_SEALED)


@settings(max_examples=60)
@given(
    st.binary(max_size=200),
    st.integers(0, 7),
    st.integers(0, 200),
    st.integers(0, 200),
    st.sampled_from(["ntlm", "v1", "aes", "rc4"]),
)
def test_random_messages_never_raise(pdu: bytes, level: int, first: int, second: int, kind: str) -> None:
    if kind in ("ntlm", "v1"):
        conversation: NtlmConversation | KerberosConversation = ntlm_handshake(
            flags=USUAL_FLAGS if kind == "ntlm" else USUAL_FLAGS & ~ESS
        )
        context = followed(conversation).context()
        verifier_start = b"\1\0\0\0"
    else:
        etype = 18 if kind == "aes" else 23
        conversation = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=etype)
        key = KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)
        context = followed(conversation, Keyring(kerberos_keys=[key])).context()
        verifier_start = b"\5\4\2\xff" if kind == "aes" else b"\x02\x01\x11\x00\x10\x00\xff\xff"
    start, stop = sorted((first, second))
    whole = pdu[:stop] + verifier_start + pdu[stop:]
    result = context.open("initiator", level, whole, slice(start, stop), slice(min(stop, len(pdu)), len(whole)))
    assert result.verified is not True
    if level >= PRIVACY:
        assert result.body is None


@given(
    st.binary(max_size=200),
    st.lists(st.binary(max_size=100), max_size=4),
    st.sampled_from(["md5", "sha1", "sha256", "sha384"]),
)
def test_a_prepared_hmac_is_an_hmac(key: bytes, messages: list[bytes], name: str) -> None:
    prepared = Hmac(key, name)
    assert [prepared.digest(each) for each in messages] == [hmac.digest(key, each, name) for each in messages]


@example([("n", 300), ("n", 300), ("n", 300), ("b", 300)])
@example([("l", 300), *[("n", 200)] * 5, ("b", 50), ("b", 300), ("n", 300)])
@example([("j", 300), ("l", 0), *[("n", 250)] * 4])
@given(st.lists(st.tuples(st.sampled_from("nljb"), st.integers(0, 300)), max_size=20))
def test_a_keystream_is_the_same_wherever_it_was_looked_at(steps: list[tuple[str, int]]) -> None:
    """Messages opened as they come, looked ahead, jumped to and gone back to."""
    key = b"sixteen bytes..."
    expected, stream, position = Rc4(key).update(bytes(20_000)), _Keystream(key), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ntlm_context, "_KEEP_BEHIND", 200)
        patch.setattr(ntlm_context, "_FORGET", 100)
        for step, amount in steps:
            if step == "l":
                assert stream.at(position + amount, 50, 100) == expected[position + amount :][:50]
            elif step == "b":
                at = max(position - amount, 0)
                assert stream.open(at, bytes(50)) == expected[at : at + 50]
            else:
                position += amount if step == "j" else 0
                assert stream.open(position, bytes(amount)) == expected[position : position + amount]
                position += amount
                stream.forget(position)


class Counted(SearchBudget):
    """A budget to which messages add nothing, so that what is spent can be counted."""

    def earn(self, size: int) -> None:
        pass


class Followed:
    """A conversation of which messages are lost or damaged, and what looking for places costs."""

    def __init__(
        self, *, flags: int = USUAL_FLAGS, tries: int = 10**6, keystream: int = 1 << 30, level: int = PRIVACY
    ) -> None:
        self.search = Counted(tries, keystream)
        self.level = level
        self.conversation = ntlm_handshake(flags=flags)
        self.context = followed(self.conversation).context(self.search)

    def pdu(self, size: int) -> tuple[bytes, slice, slice]:
        return protected_pdu(self.conversation, "initiator", bytes(size), level=self.level)

    def lose(self, *sizes: int, reported: int | None = None) -> None:
        """Messages that were not captured."""
        for size in sizes:
            self.pdu(size)
        self.context.lost("initiator", reported)

    def cost(self, size: int = 16, *, damaged: bool = False) -> tuple[int, bool]:
        """How many tries a message takes, and whether it was found."""
        pdu, where, verifier = self.pdu(size)
        if damaged:
            pdu = bytes([*pdu[: where.start], pdu[where.start] ^ 1, *pdu[where.start + 1 :]])
        before = self.search.tries
        result = self.context.open("initiator", self.level, pdu, where, verifier)
        return before - self.search.tries, bool(result.verified)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_SEARCH_BUDGET": 8000, "_SEARCH_AHEAD": 4096 * 16, "_SEARCH_MINIMUM": 10}.items():
        monkeypatch.setattr(ntlm_context, name, value)


@pytest.mark.parametrize(
    ("lost", "reported", "size", "tries"),
    [
        # A message of 100 bytes takes 108 of keystream: places 0, 4, ..., 108 behind the last message are tried.
        ((100,), None, 16, 28),
        # A longer message costs more: 1, and 1 for each 1024 bytes.
        ((100,), None, 1023, 28),
        ((100,), None, 1024, 56),
        ((100,), None, 3000, 84),
        # Of what was lost, header, trailer and signature spend no keystream: 24 + 8 + 16 bytes, and 8 of the checksum.
        ((100,), 100 + 40 + 8, 16, 1),
        ((100,), 100 + 40 + 8 + 8, 16, 4),
        ((100,), 100 + 40 + 8 - 8, 16, 5),
        ((100, 60), 160 + 2 * 48, 16, 1),
    ],
)
def test_what_it_costs_to_find_a_place(lost: tuple[int, ...], reported: int | None, size: int, tries: int) -> None:
    conversation = Followed()
    assert conversation.cost() == (0, True)
    conversation.lose(*lost, reported=reported)
    assert conversation.cost(size) == (tries, True)
    assert conversation.cost() == (0, True)
    assert conversation.search.given_up == 0


@pytest.mark.usefixtures("small_budget")
def test_each_message_after_a_loss_may_cost_twice_what_the_one_before_did() -> None:
    """An eighth of the budget first; when all of it is spent, the minimum, so that the place is found where it is near."""
    conversation = Followed()
    conversation.cost()
    conversation.lose(100)
    costs = [conversation.cost(damaged=True) for _ in range(6)]
    assert costs == [(1000, False), (2000, False), (4000, False), (1000, False), (10, False), (10, False)]


@pytest.mark.usefixtures("small_budget")
def test_a_search_in_vain_halves_what_the_next_one_may_cost() -> None:
    conversation = Followed()
    conversation.cost()
    costs = []
    for _ in range(9):
        # Nothing is missing in truth, so that the next message is where it should be.
        conversation.lose()
        costs.append(conversation.cost(damaged=True)[0])
        assert conversation.cost() == (0, True)
    assert costs == [1000, 500, 250, 125, 62, 31, 15, 15, 15]
    # One that finds the place gives all back.
    conversation.lose(4)
    assert conversation.cost() == (4, True)
    conversation.lose()
    assert conversation.cost(damaged=True) == (1000, False)


@pytest.mark.usefixtures("small_budget")
def test_a_search_ends_where_the_budget_of_all_does() -> None:
    conversation = Followed(tries=1010)
    conversation.cost()
    conversation.lose(100)
    assert [conversation.cost(damaged=True) for _ in range(3)] == [(1000, False), (10, False), (0, False)]
    assert conversation.search.given_up == 2
    # As many tries as it takes are enough.
    for tries, found in ((28, True), (27, False)):
        conversation = Followed(tries=tries)
        conversation.cost()
        conversation.lose(100)
        assert conversation.cost() == (tries, found)
        assert conversation.search.given_up == (not found)


def test_without_keystream_to_make_nothing_is_looked_for() -> None:
    for keystream, found in ((0, False), (1 << 20, True)):
        conversation = Followed(keystream=keystream)
        conversation.cost()
        conversation.lose(100)
        assert conversation.cost()[1] == found
        assert conversation.search.given_up == (not found)
        assert conversation.cost() == (0, True) if found else conversation.search.given_up == 1


def test_a_place_far_ahead_takes_as_much_keystream_as_lies_between() -> None:
    """Where it is known how much was lost; up to 128 KiB beyond the last message it costs nothing."""
    for count, free in ((2, True), (4, False)):
        conversation = Followed()
        conversation.cost()
        length = count * 50_000
        conversation.lose(*[50_000] * count, reported=length + count * 48)
        before = conversation.search.keystream
        assert conversation.cost() == (1, True)
        spent = before - conversation.search.keystream
        assert spent == 0 if free else length <= spent <= length + 8192


def test_signed_messages_that_are_missing_by_their_number_are_where_they_should_be() -> None:
    """Messages that are only signed take a checksum of keystream each, so that the number states the place."""
    conversation = Followed(level=INTEGRITY)
    conversation.cost()
    conversation.lose(100, 20, 300)
    assert conversation.cost() == (0, True)


def test_a_message_that_was_seen_is_found_where_it_was() -> None:
    conversation = Followed()
    kept = [conversation.pdu(size) for size in (16, 400, 24, 8)]
    opened = [conversation.context.open("initiator", PRIVACY, *kept[at]).verified for at in (0, 1, 2, 1, 0, 3)]
    assert opened == [True] * 6
    assert conversation.search.tries == 10**6


@pytest.mark.usefixtures("small_budget")
def test_a_shared_keystream_is_looked_for_alike() -> None:
    """Without extended session security each message takes 12 bytes more, in one keystream for both ways."""
    conversation = Followed(flags=USUAL_FLAGS & ~ESS)
    conversation.cost()
    conversation.lose(100)
    assert conversation.cost() == (1 + 112 // 4, True)
    conversation.lose(100, reported=100 + 48)
    assert conversation.cost() == (1, True)
    conversation.lose(100)
    assert [conversation.cost(damaged=True) for _ in range(2)] == [(1000, False), (2000, False)]


def test_keystream_is_kept_so_far_behind_and_made_again_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntlm_context, "_KEEP_BEHIND", 1000)
    monkeypatch.setattr(ntlm_context, "_FORGET", 500)
    for steps in ([100] * 40, [700] * 9, [3000, 10, 3000, 10]):
        stream, plain = _Keystream(b"some key"), _Keystream(b"some key")
        whole = plain.at(0, sum(steps))
        at = 0
        for number, size in enumerate(steps):
            data = bytes(size)
            # Some are opened as they come, others are looked at.
            found = stream.open(at, data) if number % 3 else stream.at(at, size)
            assert found == whole[at : at + size]
            at += size
            stream.forget(at)
            assert stream.end == at
            held = at - 1000 - 500
            for back in (at - 1, max(at - 900, 0)):
                assert stream.cost(back, 1) == 0
            if held > 0:
                assert stream.cost(0, 1) == (at if stream._base else 0)
        assert stream.at(max(at - 1000, 0), min(at, 1000)) == whole[-min(at, 1000) :]
        assert stream.at(0, 50) == whole[:50]
        assert (stream.cost(0, 60), stream.cost(10, 20)) == (10, 0)
