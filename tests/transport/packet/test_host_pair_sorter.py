"""Frames by the pair of hosts they passed between: which are kept, whose they are, and whether any has data."""

from collections.abc import Collection
from ipaddress import ip_address

import pytest

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.tcpip_encoding import ACK, SYN
from analyzer.transport.packet import block_dissector as dissector_module
from analyzer.transport.packet import host_pair_sorter
from analyzer.transport.packet.flow_candidates import flow_hash, flow_key
from analyzer.transport.packet.host_pair_sorter import FrameKind, FrameSorter, pair_of
from tests.build.packet import (
    CLIENT,
    CLIENT6,
    SERVER,
    SERVER6,
    block,
    ethernet,
    gre,
    ipv4,
    ipv6,
    smb2,
    tcp,
    udp,
    vxlan,
)

PAIR, PAIR6 = (CLIENT, SERVER), (CLIENT6, SERVER6)
HTTP = ethernet(ipv4(tcp(b"GET / HTTP/1.1", sport=40000, dport=80)))
TICKET = b"\0\0\0\x10\x6a" + bytes(20)
Sorted = list[dict[FrameKind, tuple[list[int], bool]]]


def back(payload: bytes, **options: int) -> bytes:
    """From the server to the client."""
    return ethernet(ipv4(payload, src=SERVER, dst=CLIENT, **options))


def found(sorter: FrameSorter, *blocks: FrameBlock) -> Sorted:
    """By block, the frames (counted from 1 in their block) of each kind."""
    given = [one for each in blocks for one in sorter.sort(each)] + list(sorter.rest())
    return [{one.kind: ((one.index + 1).tolist(), one.has_data) for one in chosen} for _, chosen in given]


def sorted_alone(frames: Collection[bytes], *, wanted: Collection[int] = ()) -> dict[FrameKind, tuple[list[int], bool]]:
    """The same whether frames are read by the block or one by one (a few are no block)."""
    (few,) = found(FrameSorter(wanted=wanted), block(frames))
    (many,) = found(FrameSorter(wanted=wanted), block([*frames, *[HTTP] * 40]))
    assert few == many
    return few


def test_frames_of_our_ports_are_of_their_hosts() -> None:
    frames = [
        ethernet(ipv4(tcp(flags=SYN))),
        HTTP,
        back(tcp(flags=SYN | ACK, sport=445, dport=50000)),
        ethernet(ipv4(tcp(smb2()))),
        ethernet(ipv6(tcp(b"", flags=ACK)), 0x86DD),
        ethernet(ipv4(tcp(flags=ACK), src="203.0.113.9", dst=SERVER)),
        ethernet(ipv4(tcp(b"x", dport=139), src="203.0.113.9", dst=SERVER)),
        *(ethernet(ipv4(tcp(b"x", dport=port), src="203.0.113.8", dst=SERVER)) for port in (134, 135, 136, 138, 140)),
        *(ethernet(ipv4(tcp(b"x", sport=port, dport=1), src="203.0.113.8", dst=SERVER)) for port in (444, 446, 87, 89)),
    ]
    assert sorted_alone(frames) == {
        FrameKind(PAIR): ([1, 3, 4], True),
        FrameKind(PAIR6): ([5], False),
        FrameKind((SERVER, "203.0.113.9")): ([6, 7], True),
        FrameKind((SERVER, "203.0.113.8")): ([9], True),
    }
    assert sorted_alone(frames[:3]) == {FrameKind(PAIR): ([1, 3], False)}
    assert sorted_alone([HTTP]) == {}


def test_frames_of_a_kdc_are_those_of_the_client_that_asks() -> None:
    frames = [
        ethernet(ipv4(tcp(TICKET, sport=50001, dport=88))),
        back(tcp(TICKET, sport=88, dport=50001)),
        back(udp(b"reply", sport=88, dport=50001), protocol=17),
        ethernet(ipv4(udp(b"request", sport=50001, dport=88), protocol=17)),
        # The server asks its client, which is a KDC too.
        back(tcp(TICKET, sport=50002, dport=88)),
        ethernet(ipv4(tcp(smb2()))),
        ethernet(ipv6(tcp(b"", sport=88, dport=50001)), 0x86DD),
    ]
    assert sorted_alone(frames) == {
        FrameKind(PAIR, CLIENT): ([1, 2, 3], True),
        FrameKind(PAIR, SERVER): ([5], True),
        FrameKind(PAIR): ([6], True),
        FrameKind(PAIR6, SERVER6): ([7], False),
    }


def test_flows_of_other_ports_are_kept_where_they_say_so_here_or_elsewhere() -> None:
    speaks = ethernet(ipv4(tcp(smb2(), sport=50000, dport=4451)))
    silent = ethernet(ipv4(tcp(b"in its middle", sport=50000, dport=4452)))
    ends = [((ip_address(CLIENT).packed, 50000), (ip_address(SERVER).packed, port)) for port in (4451, 4452)]
    hashes = [flow_hash(*flow_key(*each)) for each in ends]
    frames = [silent, speaks, silent, HTTP]
    assert sorted_alone(frames) == {FrameKind(PAIR): ([2], True)}
    assert sorted_alone(frames, wanted=[hashes[1], 7]) == {FrameKind(PAIR): ([1, 2, 3], True)}
    assert sorted_alone([silent], wanted=hashes) == {FrameKind(PAIR): ([1], True)}
    for rest in ([], [HTTP] * 40):
        sorter = FrameSorter(wanted=[hashes[1]])
        found(sorter, block([*frames, *rest]))
        assert sorter.recognised == {hashes[0]}
        http = flow_hash((ip_address(CLIENT).packed, 40000), (ip_address(SERVER).packed, 80))
        assert set(sorter.met.tolist()) == {*hashes, http}
        assert sorter.met.tolist() == sorted(sorter.met.tolist())
        assert sorter.links == set()
    assert FrameSorter().met.tolist() == []


def test_blocks_are_given_out_when_enough_of_what_follows_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissector_module, "LOOK_BEHIND_BYTES", 200)
    sorter = FrameSorter()
    one = block([ethernet(ipv4(tcp(smb2())))])
    size = len(ethernet(ipv4(tcp(smb2())))) + 16
    assert 100 <= size < 200
    assert [len(list(sorter.sort(one))) for _ in range(4)] == [0, 0, 1, 1]
    assert len(list(sorter.rest())) == 2
    assert sorter.tallies.forgotten == 0


# --------------------------------------------------------------------------------------------------------- fragments


def pieces(data: bytes, protocol: int, *, ident: int, size: int = 40) -> list[bytes]:
    return [
        ethernet(ipv4(data[at : at + size], ident=ident, offset=at, more=at + size < len(data), protocol=protocol))
        for at in range(0, len(data), size)
    ]


def test_fragments_are_kept_with_those_of_their_hosts() -> None:
    """They are put together where all of them are: nothing is made of them here."""
    for frames in (pieces(tcp(smb2()), 6, ident=1), pieces(tcp(b"x" * 90, dport=80), 6, ident=2)):
        assert sorted_alone(frames) == {FrameKind(PAIR): (list(range(1, len(frames) + 1)), True)}
    assert sorted_alone(pieces(tcp(smb2()), 1, ident=1)) == {}


def test_of_datagrams_the_first_fragment_says_whose_they_are() -> None:
    inner = ethernet(ipv4(tcp(smb2()), src="10.0.0.1", dst="10.0.0.2"))
    tunnel = pieces(vxlan(inner), 17, ident=1)
    ticket = pieces(udp(b"t" * 90, sport=88, dport=5000), 17, ident=2)
    other = pieces(udp(b"o" * 90, sport=53, dport=5000), 17, ident=3)
    assert sorted_alone(tunnel) == {FrameKind(PAIR): (list(range(1, len(tunnel) + 1)), True)}
    assert sorted_alone(ticket) == {FrameKind(PAIR, SERVER): ([1, 2, 3], True)}
    assert sorted_alone(other) == {}
    # What comes before the first is kept in case, and what comes behind it is known.
    assert sorted_alone([*ticket[1:], ticket[0], *other[1:], *other]) == {
        FrameKind(PAIR): ([1, 2, 4, 5], True),
        FrameKind(PAIR, SERVER): ([3], True),
    }


def test_so_many_fragments_are_kept_whose_first_is_not_here() -> None:
    loose = [pieces(udp(b"o" * 90), 17, ident=number)[1] for number in range(300)]
    (kinds,) = found(FrameSorter(), block(loose))
    assert kinds == {FrameKind(PAIR): (list(range(1, 257)), True)}


def test_so_many_datagrams_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_pair_sorter, "_MOST_DATAGRAMS", 2)
    monkeypatch.setattr(host_pair_sorter, "_MOST_LOOSE", 0)
    parts = [pieces(udp(b"t" * 90, sport=88, dport=5000), 17, ident=number) for number in range(3)]
    (kinds,) = found(FrameSorter(), block([*(part[0] for part in parts), *(part[1] for part in parts)]))
    # The first datagram was forgotten, so that its second fragment has none.
    assert kinds == {FrameKind(PAIR, SERVER): ([1, 2, 3, 5, 6], True)}


def test_fragments_that_carry_packets_of_others_link_the_two_pairs() -> None:
    carried = ipv4(tcp(smb2()), src="10.0.0.1", dst="10.0.0.2")
    frames = pieces(gre(carried, 0x0800), 47, ident=1)
    for rest in ([], [HTTP] * 40):
        sorter = FrameSorter()
        (kinds,) = found(sorter, block([*frames, *rest]))
        assert kinds == {FrameKind(PAIR): (list(range(1, len(frames) + 1)), True)}
        assert sorter.links == {(PAIR, ("10.0.0.1", "10.0.0.2"))}
    sorter = FrameSorter()
    found(sorter, block(pieces(tcp(smb2()), 6, ident=1)))
    assert sorter.links == set()


def test_what_cannot_be_read_is_counted() -> None:
    sorter = FrameSorter()
    frame = ethernet(ipv4(tcp(smb2())))
    assert found(sorter, block([(frame[:40], len(frame))] * 3), block([b"x" * 60] * 2, link_type=147)) == [{}, {}]
    assert (sorter.tallies.lost["truncated"].count, sorter.tallies.unknown_links[147].count) == (3, 2)


def test_pairs_are_in_the_order_of_their_addresses() -> None:
    one, other = ip_address("9.0.0.1").packed, ip_address("10.0.0.1").packed
    assert pair_of(one, other) == pair_of(other, one) == ("9.0.0.1", "10.0.0.1")
    assert pair_of(ip_address("::1").packed, ip_address("::1").packed) == ("::1", "::1")
