"""Limits of one analysis: each with its default, its reason, and the option that changes it.

Captures are written by whoever was on the network, so nothing in them may decide over our memory and time. Reaching a limit is a
problem of kind `limit` that names what was given up. Results of earlier bytes stay. Layers take their numbers from here.

`MemoryBudget` counts what the connections or associations of an analysis hold, and decides which of them give way.
"""

from __future__ import annotations

from msgspec import Struct

# --------------------------------------------------------------------------------------------------------------- limits


MIB = 1 << 20


class Limits(Struct, frozen=True):
    """The limits of an analysis. `ABOUT` states for each what it counts, and the reason."""

    decompressed_ratio: int = 50
    decompressed_free: int = 16 * MIB
    wrappings: int = 3
    decompressors: int = 160 * MIB
    interfaces: int = 1 << 16
    address_names: int = 100_000
    trace_buffers: int = 1 << 20
    trace_waiting: int = 64 * MIB
    trace_packets: int = 1 << 16
    flows: int = 100_000
    waiting: int = 1 << 15
    waiting_bytes: int = 16 * MIB
    started: int = 1 << 18
    flow_links: int = 1 << 16
    datagrams: int = 4096
    datagram_bytes: int = 16 * MIB
    connections: int = 32_768
    held_stream: int = 8 * MIB
    held_total: int = 48 * MIB
    smb_ratio: int = 64
    smb_decompressed_free: int = 64 * MIB
    compound: int = 1024
    sessions: int = 1024
    trees: int = 1024
    opens: int = 16_384
    opens_in_all: int = 65_536
    requests: int = 8192
    smb_memory: int = 64 * MIB
    security_contexts: int = 256
    calls_pending: int = 1024
    stub: int = 64 * MIB
    rpc_memory: int = 96 * MIB
    search_tries: int = 400_000
    search_keystream: int = 128 * MIB
    problems: int = 20_000
    listed: int = 100_000
    listed_memory: int = 48 * MIB
    order_time: int = 10
    order_calls: int = 1 << 16


class About(Struct, frozen=True):
    """The explanation of a limit: `what` is counted, in `unit` ("" for plain numbers); `option` changes it, unless it is None."""

    what: str
    reason: str
    option: str | None = None
    unit: str = ""


DEFAULTS = Limits()

ABOUT: dict[str, About] = {
    "decompressed_ratio": About(
        "bytes that each byte of a compressed file may expand to",
        "Captures shrink to a third or a tenth, seldom to a fiftieth; gzip can promise a thousand times, xz many thousand.",
        "--max-ratio",
        "bytes",
    ),
    "decompressed_free": About(
        "bytes that a compressed file may expand to whatever its ratio",
        "A short capture of one message repeated is no bomb.",
        None,
        "bytes",
    ),
    "wrappings": About(
        "compressions inside each other",
        "Nobody wraps a capture more often; a file that keeps unwrapping is built to.",
    ),
    "decompressors": About(
        "memory of the decompressors of all files that are read at the same time",
        "zstd --long=27 takes 128 MiB; files that do not overlap in time are read one after the other.",
        None,
        "bytes",
    ),
    "interfaces": About(
        "interfaces in a section of a pcapng file",
        "A description takes more memory than it has bytes, and no machine has this many.",
    ),
    "address_names": About(
        "names of addresses in the name records of pcapng files",
        "More names than a network of this kind has machines.",
    ),
    "trace_buffers": About(
        "buffers of an event trace log (.etl)",
        "64 GiB of buffers of the usual size; where each lies takes memory.",
    ),
    "trace_waiting": About(
        "memory of packets of an event trace log that wait for earlier ones of other processors",
        "A buffer of 1 MiB of each of 64 processors; the earliest go on out of order.",
        None,
        "bytes",
    ),
    "trace_packets": About(
        "packets of an event trace log that are remembered, to recognise them in later events",
        "A packet passes all components within milliseconds; the oldest is forgotten first.",
    ),
    "flows": About(
        "flows on other ports that look like SMB or DCERPC",
        "Any payload may begin like ours; the flow taken first is forgotten first.",
    ),
    "waiting": About(
        "TCP segments on ports of SMB and DCERPC that wait until data of their flow looks like SMB or DCERPC",
        "So many half-open or foreign flows at once are a scan. The oldest is dropped first; its flow then begins with its data.",
    ),
    "waiting_bytes": About(
        "total size of these segments",
        "What other services send on these ports in a moment. The oldest is dropped first.",
        None,
        "bytes",
    ),
    "started": About(
        "flows on ports of SMB and DCERPC whose data is known to look like SMB or DCERPC",
        "The first one is forgotten first; its segments then wait for its next message.",
    ),
    "flow_links": About(
        "link-layer addresses and hop limits that are noted for each end of connections",
        "`hosts` tells machines at one address apart by them. The rest is counted.",
    ),
    "datagrams": About(
        "IP datagrams that wait for fragments",
        "Hosts give up after two minutes at most; the oldest goes first.",
    ),
    "datagram_bytes": About(
        "memory of fragments that wait",
        "256 datagrams of the longest kind; the oldest goes first.",
        None,
        "bytes",
    ),
    "connections": About(
        "TCP connections that are followed at the same time",
        "Each costs about 1 KiB. In a port scan, those without data and the closed ones are forgotten first.",
        "--max-connections",
    ),
    "held_stream": About(
        "memory of segments of one direction that wait behind a hole",
        "Receive windows grow to a few MiB; what waits is at most a window.",
        "--max-held",
        "bytes",
    ),
    "held_total": About(
        "memory of all segments that wait behind holes",
        "A few busy connections with losses at the same time.",
        "--max-held",
        "bytes",
    ),
    "smb_ratio": About(
        "bytes that each byte of compressed SMB messages of a connection may expand to",
        "A pattern of eight bytes can promise 16 MiB, again and again.",
        None,
        "bytes",
    ),
    "smb_decompressed_free": About(
        "bytes that compressed SMB messages of a connection may expand to whatever their ratio",
        "Four of the longest messages.",
        None,
        "bytes",
    ),
    "compound": About("operations in one SMB2 compound", "Clients send three or four; servers refuse long ones."),
    "sessions": About(
        "SMB sessions of a connection",
        "Terminal servers have dozens on one; the oldest is reported and forgotten first.",
    ),
    "trees": About(
        "tree connects of an SMB session", "A client has one for each share; the oldest is forgotten first."
    ),
    "opens": About(
        "open files and pipes of an SMB session", "Servers allow 16,384 (Windows); the oldest counts as closed."
    ),
    "opens_in_all": About(
        "open files and pipes of all SMB sessions together",
        "Each costs about 1 KiB, a pipe with its calls more. The oldest of the session counts as closed. If the session has "
        "none, the new one is not read.",
    ),
    "requests": About(
        "SMB requests of a connection that wait for their answers",
        "Clients may have 8,192 credits at most; the oldest is forgotten first.",
    ),
    "smb_memory": About(
        "memory of SMB connections: sessions, trees, requests, messages under way",
        "Beyond it, the longest silent connections are given up. If more of their data comes, it is read from the middle.",
        None,
        "bytes",
    ),
    "security_contexts": About(
        "security contexts of a DCERPC association", "Clients have a handful; the oldest is forgotten first."
    ),
    "calls_pending": About(
        "calls of a DCERPC association that wait for their answers",
        "The oldest is reported without an answer.",
    ),
    "stub": About(
        "the longest stub that is put together from fragments",
        "[MS-PCQ] 3.1.4.1.6 lets a client offer 1 GiB; the other methods, and [MS-RRP], allow 64 MiB.",
        "--max-stub",
        "bytes",
    ),
    "rpc_memory": About(
        "memory of DCERPC associations: contexts, calls and fragments under way",
        "At least half as much again as the longest stub. The longest silent associations are given up.",
        None,
        "bytes",
    ),
    "search_tries": About(
        "positions in NTLM keystreams that are tried for messages after a loss, and one more for each two bytes of such messages",
        "A second of work; it is shared by all associations, and each loss gets a part of what is left.",
    ),
    "search_keystream": About(
        "keystream that is generated to try such positions, and 64 bytes more for each byte of such messages",
        "Half a second of work. A message states its sequence number itself, so it can ask for any position.",
        None,
        "bytes",
    ),
    "problems": About(
        "problems that are listed one by one",
        "Nobody reads more, and a hostile capture can cause any number. The rest is counted.",
    ),
    "listed": About(
        "entries of each list: SMB sessions, binds, feature negotiations, marks of programs",
        "Each takes more memory than its messages have bytes. The rest is counted.",
    ),
    "listed_memory": About(
        "memory of these lists and the list of problems; as much again for marks of programs",
        "Names in them may be as long as a message. The rest is counted.",
        None,
        "bytes",
    ),
    "order_time": About(
        "seconds of capture time that calls wait, with --names-from now, until an earlier call ends",
        "Answers take milliseconds, seldom seconds. A call without one must not hold up the others; it is printed when it ends.",
    ),
    "order_calls": About(
        "calls that wait for an earlier call",
        "Answers overtake each other by fewer calls. Beyond it, the waiting calls are printed.",
    ),
}


# -------------------------------------------------------------------------------------------------------- memory budget


class MemoryBudget:
    """Counts the memory of many holders against one limit. Above it, the holders that were silent longest give way."""

    def __init__(self, most: int) -> None:
        """`most` is the limit of the memory budget in bytes."""
        self.most = most
        # How many holders had to give way.
        self.given_up = 0
        self._total = 0
        # Bytes by holder, the one silent longest first.
        self._held: dict[int, int] = {}

    def holds(self, holder: int, size: int) -> list[int]:
        """Notes that a holder is active and now holds `size` bytes of memory. Returns the holders that must give way to keep the
        limit; their memory is already subtracted.

        A quarter of the limit is made free at once, so that the next event does not ask again. The holder itself goes last.
        """
        held = self._held
        self._total += size - held.pop(holder, 0)
        held[holder] = size
        if self._total <= self.most:
            return []
        leaving = []
        for other, amount in held.items():
            if self._total <= self.most - self.most // 4:
                break
            if amount:
                self._total -= amount
                leaving.append(other)
        for other in leaving:
            del held[other]
        self.given_up += len(leaving)
        return leaving

    @property
    def holders(self) -> list[int]:
        """The holders of limited memory, such as connections, the one silent longest first."""
        return list(self._held)

    def ends(self, holder: int) -> None:
        """Notes that a holder is gone, and frees its part of the limit."""
        self._total -= self._held.pop(holder, 0)
