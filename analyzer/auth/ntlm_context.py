"""Opens and checks messages under NTLM session security ([MS-NLMP] section 3.4, [MS-RPCE] section 3.3.1.5.2).

Sealing and signing draw on one RC4 keystream per sender, which starts with the context and is never announced on the wire. This
module keeps, per sender, a *proven position*: the first keystream byte after the last message whose checksum was right. A message
is tried at the position that follows from the messages seen since. If its checksum does not fit there, a few other positions are
tried that are known to occur: SPNEGO's mechListMIC spends eight bytes and a sequence number, or the stream is begun again after it.
If messages are known or seen (by the clear sequence number) to be missing, the message is tried forward through the keystream
within bounds. Only a right checksum moves the position, so a damaged message costs only itself, and no plaintext is handed out that
was not proven.

Without extended session security the two senders share one keystream and one sequence, the signature's checksum is a
CRC32, and its number is encrypted too ([MS-NLMP] section 3.4.4.1).
"""

from __future__ import annotations

import zlib
from collections import OrderedDict, deque
from collections.abc import Iterator

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from msgspec import Struct

from analyzer.auth.hmac_key import Hmac
from analyzer.auth.ntlm import Flag
from analyzer.auth.ntlm_keys import direction_keys
from analyzer.auth.security_types import SearchBudget, Sender, Unprotected
from analyzer.core.printable_text import counted
from analyzer.results.security import AuthLevel, Decryption

SIGNATURE_LEN = 16

# How far behind the proven position keystream is kept, for messages delivered twice or late.
_KEEP_BEHIND = 256 * 1024
# Keystream that need not be kept is forgotten in pieces of this size.
_FORGET = 64 * 1024
# How far forward a search may look when it is not known how much was lost.
_SEARCH_AHEAD = 1024 * 1024
# The longest run of keystream that will be generated to look behind a loss of known size.
_MAX_AHEAD = 64 * 1024 * 1024
# Of that, how far at positions that are no multiple of 4.
_SEARCH_UNALIGNED = 64 * 1024
# Work that searches of one direction may cost between two successes, in checksums over short messages: a second or two. The first
# message may be damaged itself, so it gets an eighth of that, and each after it twice as much. A search in vain halves what
# the next loss may cost, and one that found the place gives it all back.
_SEARCH_BUDGET = 350_000
_FIRST_SHARE = 8
_MOST_HALVINGS = 6
# The cost that each message may have in any case, so that a later, better hint about the loss is not in vain.
_SEARCH_MINIMUM = 256
_REMEMBERED = 512
# How much keystream a search makes at a time.
_STRETCH = 4096
# Keystream that is made in one go, so that a jump over much of it does not hold it three times.
_MADE_AT_ONCE = 1024 * 1024
# Keystream that may be made ahead without asking the budget: twice what a PDU can have (its length has 16 bits).
_FREE_AHEAD = 128 * 1024
_HEADER_LEN, _TRAILER_LEN = 24, 8
_PKT, _PRIVACY = AuthLevel.PKT, AuthLevel.PRIVACY


class _Keystream:
    """The RC4 keystream of one NTLM sender, by position. Going back beyond the kept part starts over from the key.

    It keeps output from `base` on. Behind that it keeps messages that were opened as they came: together with their sealed form
    they make the output, if somebody asks for it.
    """

    __slots__ = ("_base", "_buffer", "_cipher", "_end", "_key", "_opened")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.restart(0)

    def restart(self, position: int) -> None:
        """Drops all kept output of NTLM's keystream, and goes on at this position."""
        self._cipher = Cipher(ARC4(self._key), mode=None).encryptor()
        self._buffer = bytearray()
        self._opened: deque[tuple[bytes, bytes]] = deque()
        for at in range(0, position, _MADE_AT_ONCE):
            self._cipher.update(bytes(min(position - at, _MADE_AT_ONCE)))
        self._base = self._end = position

    @property
    def end(self) -> int:
        """The position up to which NTLM's RC4 keystream was made."""
        return self._end

    def cost(self, position: int, length: int) -> int:
        """Returns the bytes of NTLM's RC4 keystream that `at` must make before it can answer. If it starts over, those up to the
        former end count too."""
        stop = position + length
        return max(stop, self._end) if position < self._base else max(stop - self._end, 0)

    def at(self, position: int, length: int, ahead: int = 0) -> bytes:
        """Returns NTLM's RC4 keystream from a position on. With `ahead` it makes more, for callers that will ask for what
        follows."""
        if position < self._base:
            self.restart(position)
        while self._opened:
            self._buffer += _xor(*self._opened.popleft())
        stop = position + length
        stop += ahead if stop > self._end else 0
        while self._end < stop:
            size = min(stop - self._end, _MADE_AT_ONCE)
            self._buffer += self._cipher.update(bytes(size))
            self._end += size
        start = position - self._base
        return bytes(self._buffer[start : start + length])

    def open(self, position: int, data: bytes, ahead: int = 0) -> bytes:
        """Returns the plaintext of bytes that NTLM sealed at this position of the keystream. `ahead` is that of `at`."""
        if position != self._end or ahead:
            return _xor(data, self.at(position, len(data), ahead))
        plain = self._cipher.update(data)
        self._opened.append((data, plain))
        self._end += len(data)
        return plain

    def forget(self, before: int) -> None:
        surplus = before - self._base - _KEEP_BEHIND
        if surplus < _FORGET:
            return
        kept = len(self._buffer)
        if surplus < kept:
            del self._buffer[:surplus]
            self._base += surplus
            return
        if kept:
            self._buffer.clear()
            self._base += kept
            surplus -= kept
        while self._opened and (size := len(self._opened[0][0])) <= surplus:
            self._opened.popleft()
            self._base += size
            surplus -= size


class _SealedMessage(Struct, frozen=True):
    """The parts of one RPC message that NTLM sealed or signed."""

    header: bytes
    body: bytes
    trailer: bytes
    signature: bytes
    sealed: bool


class _StreamPosition:
    """The position of one NTLM sender in its RC4 keystream. `position` and `number` are those behind the last proven message."""

    def __init__(self, keys: bytes, search: SearchBudget) -> None:
        self.total = search
        self.keystream = _Keystream(keys)
        self.position = 0
        self.number = 0
        self.proven = False
        # Since the last proven message: keystream bytes spent by messages that did not verify, how many those were,
        # bytes of messages that were not captured, and whether anything is missing at all.
        self.failed_length = 0
        self.failed_count = 0
        self.lost_length = 0
        self.has_lost = False
        self.places: OrderedDict[int, int] = OrderedDict()
        self.budget = _SEARCH_BUDGET
        self.share = _SEARCH_BUDGET // _FIRST_SHARE
        # Losses that were searched for in vain, one after the other, and whether the present one was.
        self.in_vain = 0
        self.searched = False
        # Whether the search for the last message ended for want of the analysis' budget.
        self.is_given_up = False
        # Bytes of messages that came, not yet earned by the budget.
        self.followed = 0

    def adopt(self, position: int, number: int, spent: int, *, was_searched: bool = False) -> None:
        """Notes that an NTLM message with this sequence number was proven to be sealed at this keystream position."""
        self.places[number] = position
        if len(self.places) > _REMEMBERED:
            self.places.popitem(last=False)
        if number + 1 < self.number and self.proven:
            return
        self.position = position + spent
        self.number = number + 1
        self.proven = True
        if self.failed_count or self.has_lost or self.searched or was_searched:
            self._recover(was_searched)
        self.keystream.forget(self.position)

    def _recover(self, was_searched: bool) -> None:
        """Notes that NTLM's RC4 keystream is in sequence again: nothing is missing, and the next loss gets a search budget
        again."""
        self.failed_length = self.failed_count = self.lost_length = 0
        self.has_lost = False
        self.in_vain = 0 if was_searched else self.in_vain + self.searched
        self.searched = False
        self.budget = _SEARCH_BUDGET >> min(self.in_vain, _MOST_HALVINGS)
        self.share = self.budget // _FIRST_SHARE

    def earn(self) -> None:
        """Adds the messages that came meanwhile to the search budget, before a message is looked for in NTLM's keystream."""
        self.total.earn(self.followed)
        self.followed = 0

    def may_try(self, position: int, length: int) -> bool:
        """Whether NTLM's RC4 keystream at this position was made already, or the budget allows to make it."""
        cost = self.keystream.cost(position, length)
        if (cost <= _FREE_AHEAD and position >= self.position) or self.total.spend(cost):
            return True
        self.is_given_up = True
        return False

    def settle(self) -> None:
        """Drops NTLM keystream that a search made far beyond the proven position. Making it again counts, so searches wait."""
        if self.keystream.end - self.position > 2 * _FREE_AHEAD:
            self.total.keystream -= self.position
            self.keystream.restart(self.position)


class NtlmContext:
    """Opens the messages of one NTLM security context, those of each sender in the order in which it protected them."""

    def __init__(self, session_key: bytes, flags: int, search: SearchBudget | None = None) -> None:
        """`search` is the search budget that all NTLM contexts of an analysis share."""
        search = search if search is not None else SearchBudget()
        self._extended = bool(flags & Flag.EXTENDED_SESSIONSECURITY)
        self._key_exchange = bool(flags & Flag.KEY_EXCH)
        client = direction_keys(session_key, flags, initiator=True)
        server = direction_keys(session_key, flags, initiator=False)
        first = _StreamPosition(client.seal, search)
        # [MS-NLMP] 3.4.5.3 gives both sides one key without extended session security; implementations also share
        # the handle and the sequence number.
        second = _StreamPosition(server.seal, search) if self._extended else first
        self._streams: dict[Sender, _StreamPosition] = {"initiator": first, "acceptor": second}
        self._sign: dict[Sender, Hmac] = {"initiator": Hmac(client.sign, "md5"), "acceptor": Hmac(server.sign, "md5")}
        self._header_signed = True

    def __repr__(self) -> str:
        return "NtlmContext()"

    def open(self, sender: Sender, level: int, pdu: bytes, body: slice, verifier: slice) -> Unprotected:
        """Opens or checks one PDU under NTLM (`SecurityContext.open`)."""
        plain, signature = pdu[body], pdu[verifier]
        if level < _PKT:
            return Unprotected(plain, None, Decryption.NOT_SEALED)
        piece = _SealedMessage(pdu[: body.start], plain, pdu[body.stop : verifier.start], signature, level >= _PRIVACY)
        stream = self._streams[sender]
        stream.followed += len(pdu)
        stream.is_given_up = False
        if len(signature) != SIGNATURE_LEN or not signature.startswith(b"\x01\0\0\0"):
            return self._refused(piece, stream, "the verifier is no NTLM signature")
        number = int.from_bytes(signature[12:], "little")
        if self._extended and not stream.failed_length and number not in stream.places:
            # Nothing before it has failed, and it is no repetition: it begins where the one before it ended.
            found = self._try_extended(sender, stream, piece, stream.position, self._ways())
            if found is not None:
                return self._accepted(stream, piece, number, stream.position, found)
        stream.earn()
        result = (
            self._open_extended(sender, stream, piece, number) if self._extended else self._open_plain(stream, piece)
        )
        stream.settle()
        return result

    def _ways(self) -> tuple[bool, bool]:
        """Returns whether NTLM signs the PDU header too, in the order to try: like the message before, then the other way."""
        return self._header_signed, not self._header_signed

    def lost(self, sender: Sender, length: int | None) -> None:
        """Notes that bytes of this sender's keystream were not captured (`SecurityContext.lost`)."""
        stream = self._streams[sender]
        stream.has_lost = True
        stream.lost_length += max(length or 0, 0)

    def _spent(self, piece: _SealedMessage) -> int:
        """Returns the bytes of RC4 keystream that one NTLM message uses."""
        own = len(piece.body) if piece.sealed else 0
        if not self._extended:
            return own + 12
        return own + (8 if self._key_exchange else 0)

    def _open_extended(
        self, sender: Sender, stream: _StreamPosition, piece: _SealedMessage, number: int
    ) -> Unprotected:
        """Opens an NTLM message that is out of sequence or was changed."""
        ways = self._ways()
        for position in self._likely(stream, piece, number):
            found = self._try_extended(sender, stream, piece, position, ways)
            if found is not None:
                return self._accepted(stream, piece, number, position, found)
        missing = number - stream.number - stream.failed_count
        if missing > 0 or stream.has_lost:
            for position in self._search(stream, piece, max(missing, 0)):
                found = self._try_extended(
                    sender, stream, piece, position, ways[:1] if stream.proven else ways, _STRETCH
                )
                if found is not None:
                    return self._accepted(stream, piece, number, position, found, was_searched=True)
            stream.searched = True
        return self._not_found(stream, piece, number)

    def _likely(self, stream: _StreamPosition, piece: _SealedMessage, number: int) -> Iterator[int]:
        """Yields keystream positions that cost nothing to try: where the NTLM message should be, and other known places."""
        candidates = [stream.position + min(stream.failed_length, _SEARCH_AHEAD), stream.position]
        if number in stream.places:
            candidates.insert(0, stream.places[number])
        if not stream.proven:
            # After a mechListMIC the stream has moved by a checksum, or was begun again.
            candidates += [0, 8, 16, 12, 24]
        skipped = max(number - stream.number, 0)
        # The number is what the message says, and nothing has proven it yet.
        if skipped and not piece.sealed and (ahead := skipped * self._spent(piece)) <= _MAX_AHEAD:
            candidates.append(stream.position + ahead)
        tried: set[int] = set()
        for position in candidates:
            if position not in tried and stream.may_try(position, self._spent(piece)):
                tried.add(position)
                yield position

    def _search(self, stream: _StreamPosition, piece: _SealedMessage, missing: int) -> Iterator[int]:
        """Yields keystream positions to try for an NTLM message after a loss, the likeliest first, within the budgets."""
        if stream.total.keystream <= 0:
            stream.is_given_up = True
            return
        cost = 1 + len(piece.body) // 1024
        low = stream.position
        # Each lost PDU had a header, a sec_trailer and a signature. Of these only the checksum spends keystream.
        guess = low + stream.failed_length
        if stream.lost_length:
            overhead = (_HEADER_LEN + _TRAILER_LEN + SIGNATURE_LEN) - self._tail()
            guess += max(stream.lost_length - max(missing, 1) * overhead, 0)
        reach = stream.failed_length + stream.lost_length + _SEARCH_AHEAD
        high = low + min(reach, _MAX_AHEAD)
        guess = min(guess, high)
        left = max(min(stream.share, stream.budget), _SEARCH_MINIMUM * cost)
        stream.share *= 2
        total, length = stream.total, self._spent(piece)
        for step in (4, 1):
            # Stub data is padded to 4 at least, and the checksum takes 8 (or 12), so positions are multiples of 4
            # unless somebody pads otherwise.
            up = guess - (guess - low) % step
            down = up - step
            if step == 1:
                low_end, high_end = max(low, guess - _SEARCH_UNALIGNED), min(high, guess + _SEARCH_UNALIGNED)
            else:
                low_end, high_end = low, high
            while up <= high_end or down >= low_end:
                for position in (up, down):
                    if not low_end <= position <= high_end or (step == 1 and (position - low) % 4 == 0):
                        continue
                    if left < cost:
                        return
                    if total.tries < cost:
                        stream.is_given_up = True
                        return
                    if not stream.may_try(position, length):
                        return
                    left -= cost
                    stream.budget -= cost
                    total.tries -= cost
                    yield position
                up += step
                down -= step

    def _tail(self) -> int:
        if not self._extended:
            return 12
        return 8 if self._key_exchange else 0

    def _try_extended(
        self,
        sender: Sender,
        stream: _StreamPosition,
        piece: _SealedMessage,
        position: int,
        ways: tuple[bool, ...],
        ahead: int = 0,
    ) -> tuple[bytes, bool] | None:
        body, signature = piece.body, piece.signature
        tag, number = signature[4:12], signature[12:]
        length = len(body) if piece.sealed else 0
        sealed = (body if length else b"") + (tag if self._key_exchange else b"")
        opened = stream.keystream.open(position, sealed, ahead)
        if length:
            body = opened[:length]
        if self._key_exchange:
            tag = opened[length:]
        sign = self._sign[sender]
        for header_signed in ways:
            covered = number + piece.header + body + piece.trailer if header_signed else number + body
            if sign.digest(covered).startswith(tag):
                return body, header_signed
        return None

    def _open_plain(self, stream: _StreamPosition, piece: _SealedMessage) -> Unprotected:
        positions = list(self._likely(stream, piece, stream.number))
        for position in positions:
            result = self._try_plain(stream, piece, position)
            if result is not None:
                body, number, header_signed = result
                return self._accepted(stream, piece, number, position, (body, header_signed))
        if stream.has_lost or stream.failed_count:
            for position in self._search(stream, piece, 1):
                result = self._try_plain(stream, piece, position, _STRETCH)
                if result is not None:
                    body, number, header_signed = result
                    found = body, header_signed
                    return self._accepted(stream, piece, number, position, found, was_searched=True)
            stream.searched = True
        return self._not_found(stream, piece, stream.number)

    def _try_plain(
        self, stream: _StreamPosition, piece: _SealedMessage, position: int, ahead: int = 0
    ) -> tuple[bytes, int, bool] | None:
        body = piece.body
        own = len(body) if piece.sealed else 0
        stretch = stream.keystream.at(position, own + 12, ahead)
        if own:
            body = _xor(body, stretch[:own])
        checksum = int.from_bytes(_xor(piece.signature[8:12], stretch[own + 4 : own + 8]), "little")
        number = int.from_bytes(_xor(piece.signature[12:16], stretch[own + 8 : own + 12]), "little")
        # A CRC32 alone would let one wrong position in four billion through; the number has to make sense as well.
        if not stream.number - _REMEMBERED <= number <= stream.number + 65536:
            return None
        for header_signed in self._ways():
            covered = piece.header + body + piece.trailer if header_signed else body
            if zlib.crc32(covered) == checksum:
                return body, number, header_signed
        return None

    def _accepted(
        self,
        stream: _StreamPosition,
        piece: _SealedMessage,
        number: int,
        position: int,
        found: tuple[bytes, bool],
        *,
        was_searched: bool = False,
    ) -> Unprotected:
        body, header_signed = found
        self._header_signed = header_signed
        stream.adopt(position, number, self._spent(piece), was_searched=was_searched)
        return Unprotected(
            body, True, Decryption.DECRYPTED if piece.sealed else Decryption.NOT_SEALED, None, header_signed
        )

    def _not_found(self, stream: _StreamPosition, piece: _SealedMessage, number: int) -> Unprotected:
        missing = number - stream.number - stream.failed_count
        if stream.is_given_up:
            stream.total.given_up += 1
        if stream.has_lost or missing > 0:
            before = "messages before it were"
            if missing > 0:
                before = counted(missing, "message before it was", before)
            found = "not looked for to the end" if stream.is_given_up else "not found"
            reason = f"{before} not captured and its place in the keystream was {found}"
            return self._refused(piece, stream, reason, Decryption.BYTES_MISSING)
        return self._refused(piece, stream, f"the checksum of message {number} does not fit")

    def _refused(
        self, piece: _SealedMessage, stream: _StreamPosition, reason: str, decryption: Decryption = Decryption.WRONG_KEY
    ) -> Unprotected:
        stream.failed_length += self._spent(piece)
        stream.failed_count += 1
        if piece.sealed:
            return Unprotected(None, False, decryption, reason)
        return Unprotected(piece.body, False, Decryption.NOT_SEALED, reason)


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left, "little") ^ int.from_bytes(right, "little")).to_bytes(len(left), "little")
