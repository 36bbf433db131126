"""Replies of a KDC: the client's name in clear beside the ticket, found again by the ticket's bytes."""

from collections.abc import Iterable
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.auth import token_handshake
from analyzer.auth.kdc_replies import Issued, KdcLayer, TicketIssued, Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption, Identity
from analyzer.transport.packet.segment import UdpPayload
from analyzer.transport.tcp.stream_events import Connection, Gap, StreamBatch, StreamClosed
from tests.build.auth import KerberosConversation, kdc_reply, kerberos_handshake
from tests.build.chain import through
from tests.transport.smb.run import recognised

CLIENT, KDC = Endpoint("10.0.0.2", 50000), Endpoint("10.0.0.9", 88)
CONNECTION = Connection(0, CLIENT, KDC, True)
# Made once: what they encrypt is random.
TALK, SECOND = kerberos_handshake(), kerberos_handshake(seed=2)


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def chunks(*pieces: bytes, connection: Connection = CONNECTION, direction: int = 1) -> list[Event]:
    out: list[Event] = []
    offset = 0
    for number, piece in enumerate(pieces, 1):
        out.append(
            StreamBatch.of_part(connection, 1 if direction else 0, offset, TracedBytes.of_frame(piece, number, 54))
        )
        offset += len(piece)
    return out


def tickets_of(events: Iterable[Event]) -> Tickets:
    tickets = Tickets()
    for issued in through([KdcLayer()], recognised(events)):
        assert isinstance(issued, TicketIssued)
        tickets.note(issued.digest, issued.issued)
    return tickets


def identity(tickets: Tickets, talk: KerberosConversation = TALK, keyring: Keyring | None = None) -> Identity:
    begun = token_handshake.begin(keyring or Keyring(), tickets=tickets)
    for sender, token in talk.legs:
        begun.feed(sender, token)
    return begun.identity


@pytest.mark.parametrize("tag", [0x6B, 0x6D], ids=["AS-REP", "TGS-REP"])
def test_a_reply_over_tcp_names_the_client_of_the_ticket(tag: int) -> None:
    found = identity(tickets_of(chunks(framed(kdc_reply(TALK.ticket, tag=tag)))))
    assert (found.account, found.account_source, found.kdc_frames) == ("perfmon@LAB.TEST", "kdc-reply", (1,))
    assert found.who == "perfmon@LAB.TEST (from the KDC's reply, not verified)"
    assert found.service == "host/srv.lab.test"


def test_a_reply_over_udp_names_it_too() -> None:
    datagram = UdpPayload(TracedBytes.of_frame(kdc_reply(TALK.ticket), 7, 42))
    assert identity(tickets_of([datagram])).kdc_frames == (7,)


def test_the_name_belongs_to_that_ticket_alone() -> None:
    tickets = tickets_of(chunks(framed(kdc_reply(TALK.ticket))))
    other = identity(tickets, SECOND)
    assert (other.account, other.account_source, other.who) == (None, None, "unknown user")
    issued = tickets.find(TALK.ticket)
    assert (issued.ticket_etype, issued.reply_etype) == (18, 18)


def test_an_opened_ticket_counts_more_than_the_reply() -> None:
    tickets = tickets_of(chunks(framed(kdc_reply(TALK.ticket, client="somebody"))))
    assert identity(tickets).account == "somebody@LAB.TEST"
    begun = token_handshake.begin(Keyring.build(passwords=["unused"]), tickets=tickets)
    assert begun.decryption is Decryption.NO_HANDSHAKE
    talk = kerberos_handshake(etype=23, session_etype=18, service_key=bytes(16))
    tickets = tickets_of(chunks(framed(kdc_reply(talk.ticket, client="somebody"))))
    opened = identity(tickets, talk, Keyring.build(nt_hashes=["00" * 16]))
    assert (opened.account, opened.account_source, opened.kdc_frames) == ("perfmon@LAB.TEST", "ticket", ())


def test_a_reply_that_hides_its_client_names_nobody() -> None:
    """RFC 6113 section 5.4.2: the name of the anonymous principal then stands for any client."""
    reply = kdc_reply(TALK.ticket, client="WELLKNOWN/ANONYMOUS", realm="WELLKNOWN:ANONYMOUS")
    assert len(tickets_of(chunks(framed(reply)))) == 0


@given(st.lists(st.integers(1, 200), min_size=1, max_size=8))
def test_cutting_the_stream_changes_nothing(cuts: list[int]) -> None:
    whole = framed(kdc_reply(TALK.ticket)) + framed(kdc_reply(SECOND.ticket, client="second"))
    pieces, at = [], 0
    while at < len(whole):
        # Where there is less than two bytes of the length, nothing distinguishes a message from other protocols.
        size = cuts[len(pieces) % len(cuts)] + (not at)
        pieces.append(whole[at : at + size])
        at += size
    tickets = tickets_of(chunks(*pieces))
    assert len(tickets) == 2
    assert identity(tickets, SECOND).account == "second@LAB.TEST"


def test_after_a_loss_the_next_message_is_taken_up() -> None:
    whole = framed(kdc_reply(TALK.ticket))
    first, *_ = chunks(whole[:40])
    later = [Gap(CONNECTION, 1, 40, None, (1,), "lost"), *chunks(framed(kdc_reply(TALK.ticket)))]
    assert len(tickets_of([first, later[0], *chunks(whole[90:])])) == 0
    assert len(tickets_of([first, *later, StreamClosed(CONNECTION, "fin")])) == 1


@given(st.binary(max_size=300), st.integers(0, 400))
def test_a_damaged_reply_is_of_one_ticket_at_most(junk: bytes, at: int) -> None:
    reply = kdc_reply(TALK.ticket)
    damaged = UdpPayload(TracedBytes.of_frame(reply[:at] + junk + reply[at + len(junk) :], 1, 42))
    assert len(tickets_of([damaged])) <= 1


def test_the_table_of_tickets_is_bounded() -> None:
    tickets = Tickets(2)
    for number in range(3):
        tickets.note(sha256(bytes([number])).digest(), Issued("perfmon@LAB", 18, 18, (number,)))
    assert len(tickets) == 2
    assert tickets.find(b"\0") is None
    assert tickets.find(b"\2") is not None
