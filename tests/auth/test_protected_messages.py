"""What both ends protected is opened again; what was changed, lost or never sealed is stated to be so."""

import hmac
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzer.auth import ntlm_context
from analyzer.auth.hmac_key import Hmac
from analyzer.auth.key_files import KerberosKey
from analyzer.auth.keyring import Keyring
from analyzer.auth.ntlm_context import _Keystream
from analyzer.auth.security_types import SearchBudget
from analyzer.auth.token_handshake import begin
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
from tests.written import Told, counted

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
        (stream,) = (each for each in context._streams.values() if each.failed_count)
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


@pytest.mark.parametrize("level", [INTEGRITY, PRIVACY])
@pytest.mark.parametrize("etype", [18, 20, 23])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_without_the_answer_that_chose_the_key_no_kerberos_message_is_called_wrong(
    level: int, etype: int, is_damaged: bool
) -> None:
    """The acceptor's subkey lies in the AP-REP. Without it the messages may be right, and the key that was given is."""
    conversation = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=etype)
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)
    handshake = begin(Keyring(kerberos_keys=[key]))
    for sender, token in conversation.legs:
        if sender == "initiator":
            handshake.feed(sender, token)
        elif is_damaged:
            handshake.feed(sender, token[:-1] + bytes([token[-1] ^ 1]))
    context = handshake.context()
    for sender, body in bodies():
        pdu, where, verifier = protected_pdu(conversation, sender, body, level=level)
        result = context.open(sender, level, pdu, where, verifier)
        assert result.reason.startswith("the Kerberos AP-REP, which may have the acceptor's key, ")
        assert result.reason.endswith("cannot be opened" if is_damaged else "is not in the capture")
        if level == PRIVACY:
            assert (result.body, result.decryption) == (None, Decryption.NO_HANDSHAKE)
        else:
            assert (result.body, result.verified) == (pdu[where], None)


@pytest.mark.parametrize("etype", [18, 23])
def test_a_key_that_fitted_is_believed_without_the_answer_too(etype: int) -> None:
    conversation = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=None)
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)
    handshake = begin(Keyring(kerberos_keys=[key]))
    for sender, token in conversation.legs:
        if sender == "initiator":
            handshake.feed(sender, token)
    context = handshake.context()
    for changed, verified in ((b"in clear", True), (b"IN CLEAR", False)):
        pdu, where, verifier = protected_pdu(conversation, "initiator", b"in clear" * 3, level=INTEGRITY)
        sent = pdu.replace(b"in clear", changed, 1)
        assert context.open("initiator", INTEGRITY, sent, where, verifier).verified is verified


def test_levels_below_packet_return_the_body_as_it_is() -> None:
    context = followed(ntlm_handshake()).context()
    result = context.open("initiator", 2, b"header" + b"body", slice(6, 10), slice(10, 10))
    assert (result.body, result.verified, result.decryption) == (b"body", None, Decryption.NOT_SEALED)


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


MESSAGE = re.compile(r"(?P<lost>lose[=?]?)?(?P<way>[<>])(?P<size>\d+)(?P<marks>[~#i]*)(?:x(?P<times>\d+))?")
SENDERS: dict[str, Sender] = {"told>": "initiator", "told<": "acceptor"}
FLAGS = {"ntlm": USUAL_FLAGS, "shared": USUAL_FLAGS & ~ESS}
BOUNDS = {
    "small": {"_SEARCH_BUDGET": 8000, "_SEARCH_AHEAD": 4096 * 16, "_SEARCH_MINIMUM": 10},
    "near": {"_SEARCH_AHEAD": 256},
    "forgetful": {"_REMEMBERED": 3},
}


def said(words: str) -> str:
    """What comes of messages between two ends.

    First the mechanism (`ntlm`, `shared` with one keystream for both ways, `kerberos`), with `:none` without a key. Then
    bounds, `tries=` and `keystream=` that there are; messages `>size` of the initiator, `<size` of the acceptor, of which `~`
    is damaged, `#` signed without its header and `i` only signed; `lose>` is not captured, `lose=>` with its length
    reported and `lose?>` without; `told>:length` reports a loss, `again:number` opens what was sent.
    """
    mechanism, *rest = words.split()
    name, _, key = mechanism.partition(":")
    talk: NtlmConversation | KerberosConversation
    talk = kerberos_handshake() if name == "kerberos" else ntlm_handshake(flags=FLAGS[name])
    ring = RING
    if isinstance(talk, KerberosConversation):
        ring = Keyring(kerberos_keys=[KerberosKey("host/srv.lab.test", "LAB.TEST", 18, 2, talk.service_key)])
    given = {
        name: int(value) for name, _, value in (word.partition("=") for word in rest) if name in ("tries", "keystream")
    }
    search = Counted(given.get("tries", 10**6), given.get("keystream", 1 << 30))
    sent: list[tuple[Sender, int, bytes, bytes, slice, slice]] = []
    lines = []

    def opened(word: str, at: int) -> None:
        sender, level, body, pdu, where, verifier = sent[at]
        tries, keystream = search.tries, search.keystream
        result = context.open(sender, level, pdu, where, verifier)
        found = "nothing" if result.body is None else "opened" if result.body == body else "as it came"
        spent = {"tries": tries - search.tries, "keystream": keystream - search.keystream}
        lines.append(
            f"{word}: {found}, verified {result.verified}, {result.decryption.name}"
            + "".join(f", {count} {what}" for what, count in spent.items() if count)
            + (f": {result.reason}" if result.reason else "")
        )

    with pytest.MonkeyPatch.context() as patch:
        for bound, value in (each for word in rest for each in BOUNDS.get(word, {}).items()):
            patch.setattr(ntlm_context, bound, value)
        context = followed(talk, Keyring() if key else ring).context(search)
        for word in rest:
            what, _, number = word.partition(":")
            if what in SENDERS:
                context.lost(SENDERS[what], int(number) if number else None)
            elif what == "again":
                opened(word, int(number))
            elif (match := MESSAGE.fullmatch(word)) is not None:
                sender: Sender = "initiator" if match["way"] == ">" else "acceptor"
                level = INTEGRITY if "i" in match["marks"] else PRIVACY
                for _ in range(int(match["times"] or 1)):
                    body = bytes([len(sent) & 0xFF]) * int(match["size"])
                    pdu, where, verifier = protected_pdu(
                        talk, sender, body, level=level, header_signed="#" not in match["marks"]
                    )
                    if "~" in match["marks"]:
                        pdu = bytes([*pdu[: where.start], pdu[where.start] ^ 1, *pdu[where.start + 1 :]])
                    sent.append((sender, level, body, pdu, where, verifier))
                    if match["lost"] in ("lose=", "lose?"):
                        context.lost(sender, len(pdu) if match["lost"] == "lose=" else None)
                    elif match["lost"] is None:
                        opened(word, len(sent) - 1)
            else:
                assert word in BOUNDS or what.partition("=")[0] in given, word
    if search.given_up:
        lines.append(f"given up {search.given_up}")
    return counted(lines)


TOLD = Told(Path(__file__).with_name("protected_messages.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_each_conversation_is_opened_as_far_as_it_was_captured(name: str) -> None:
    TOLD.holds(name)


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
