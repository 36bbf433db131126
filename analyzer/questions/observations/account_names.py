"""Finds the accounts and groups that calls of samr and lsarpc are about: their names and relative ids.

Requests name them, or hand over a handle that an earlier call opened by name or relative id ([MS-SAMR] section 3.1.5, [MS-LSAT]
section 3.1.4). Their stubs are in NDR or NDR64 ([MS-RPCE] sections 2.2.4 and 2.2.5).
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import DecodeError
from analyzer.results.calls.call import Call, Side

SAMR, LSARPC = "12345778-1234-abcd-ef00-0123456789ac", "12345778-1234-abcd-ef00-0123456789ab"

# SamrCreateGroupInDomain, SamrCreateUserInDomain, SamrCreateAliasInDomain, SamrCreateUser2InDomain
_CREATING = (10, 12, 14, 50)
OPENING = (19, 27, 34)  # SamrOpenGroup, SamrOpenAlias, SamrOpenUser
_LOOKUP_NAMES, _LOOKUP_IDS = 17, 18  # SamrLookupNamesInDomain, SamrLookupIdsInDomain
# LsarLookupNames, LsarLookupNames2, LsarLookupNames3; LsarLookupNames4 has no handle.
_LSA_NAMES, _LSA_NAMES_4 = (14, 58, 68), 77
# Calls that hand over the handle of an account or a group.
_OF_HANDLE = (
    # SamrQueryInformationGroup to SamrGetMembersInGroup, SamrQueryInformationAlias to SamrGetMembersInAlias
    *(*range(20, 26), *range(28, 34)),
    # SamrDeleteUser, SamrQueryInformationUser to SamrSetInformationUser2, SamrGetGroupsForUser
    *(35, 36, 37, 39, 47, 58),
    # SamrAddMultipleMembersToAlias, SamrRemoveMultipleMembersFromAlias
    *(52, 53),
)
NAMING = {
    SAMR: (*_CREATING, *OPENING, _LOOKUP_NAMES, _LOOKUP_IDS, *_OF_HANDLE),
    LSARPC: (*_LSA_NAMES, _LSA_NAMES_4),
}
_HANDLE = 20
_MOST_NAMES = 1000  # [MS-SAMR] section 3.1.5.11.2
# So many handles and relative ids are remembered.
_MOST_KNOWN = 10_000


class _NamingStub(Cursor):
    """Reads a stub of a samr or lsarpc call that names accounts. A `word` is a pointer or an array length: 4 or 8 bytes, aligned to
    its size."""

    __slots__ = ("size",)

    def __init__(self, call: Call, side: Side) -> None:
        super().__init__(side.stub_data, order="big" if side.big_endian else "little")
        self.size = 8 if call.syntax == "ndr64" else 4

    def word(self, field: str) -> int:
        self.align(self.size)
        return self.u64(field) if self.size == 8 else self.u32(field)


class Accounts:
    """Follows the accounts that one caller's samr and lsarpc calls at one server are about, call after call."""

    def __init__(self) -> None:
        self._handles: dict[bytes, str] = {}
        self._names: dict[int, str] = {}

    def accounts_of(self, call: Call) -> tuple[str, ...]:
        """Returns the accounts and groups that a samr or lsarpc call is about, as far as they are known."""
        request = call.request
        if request is None or request.missing is not None:
            return ()
        try:
            names = self._named(call, _NamingStub(call, request))
        except DecodeError:
            return ()
        if (
            call.interface.uuid == SAMR
            and call.opnum in (*_CREATING, *OPENING)
            and names
            and call.outcome == "answered"
        ):
            handle = call.response.stub_data[:_HANDLE] if call.response is not None else b""
            if len(self._handles) < _MOST_KNOWN or handle in self._handles:
                self._handles[handle] = names[0]
        return tuple(names)

    def _named(self, call: Call, cursor: _NamingStub) -> Sequence[str]:
        opnum = call.opnum
        if opnum == _LSA_NAMES_4 and call.interface.uuid == LSARPC:
            return _names(cursor, varying=False)
        handle = cursor.take_bytes("handle", _HANDLE)
        if call.interface.uuid == LSARPC:
            return _names(cursor, varying=False)
        if opnum in _CREATING:
            return _strings(cursor, [_string_head(cursor)])
        if opnum in OPENING:
            cursor.u32("DesiredAccess")
            return [self._of_id(cursor.u32("UserId"))]
        if opnum == _LOOKUP_NAMES:
            names = _names(cursor, varying=True)
            if call.outcome == "answered" and call.response is not None:
                self._learn(names, _NamingStub(call, call.response))
            return names
        if opnum == _LOOKUP_IDS:
            return [self._of_id(one) for one in _ids(cursor)]
        known = self._handles.get(handle)
        return [known] if known is not None else []

    def _of_id(self, relative_id: int) -> str:
        return self._names.get(relative_id) or f"RID {relative_id}"

    def _learn(self, names: Sequence[str], cursor: _NamingStub) -> None:
        """Notes which relative ids a server gave for account names: SAMPR_ULONG_ARRAY ([MS-SAMR] section 2.2.7.4)."""
        try:
            count, has_elements = cursor.u32("Count"), cursor.word("Element")
            if has_elements and count == cursor.word("max_count") == len(names):
                ids = [cursor.u32("Element") for _ in range(count)]
                if len(self._names) < _MOST_KNOWN:
                    self._names.update(zip(ids, names, strict=True))
        except DecodeError:
            return


def _count(cursor: _NamingStub, *, varying: bool) -> int:
    """Reads the number of elements of a samr or lsarpc array, and skips its NDR counts. A `varying` array also has an offset and an
    actual count."""
    count = cursor.u32("Count")
    for name in ("max_count", "offset", "actual_count") if varying else ("max_count",):
        cursor.word(name)
    if count > _MOST_NAMES:
        raise DecodeError("more elements than there may be", field="Count")
    return count


def _names(cursor: _NamingStub, *, varying: bool) -> list[str]:
    """Reads an array of RPC_UNICODE_STRING: the names in a call of samr or lsarpc."""
    return _strings(cursor, [_string_head(cursor) for _ in range(_count(cursor, varying=varying))])


def _string_head(cursor: _NamingStub) -> tuple[int, int]:
    """Reads the length and pointer of an RPC_UNICODE_STRING that names an account ([MS-DTYP] section 2.3.10)."""
    cursor.align(cursor.size)
    length = cursor.u16("Length")
    cursor.u16("MaximumLength")
    return length, cursor.word("Buffer")


def _strings(cursor: _NamingStub, heads: Sequence[tuple[int, int]]) -> list[str]:
    """Reads the texts of account names, which stand after the heads of all strings."""
    found: list[str] = []
    for length, pointer in heads:
        if not pointer:
            continue
        cursor.word("max_count")
        cursor.word("offset")
        actual = cursor.word("actual_count")
        if length // 2 > actual:
            raise DecodeError("a string shorter than it states", field="actual_count")
        found.append(
            cursor.take_bytes("Buffer", 2 * actual)[:length]
            .decode(f"utf-16-{cursor.order[0]}e", "replace")
            .rstrip("\0")
        )
    return found


def _ids(cursor: _NamingStub) -> list[int]:
    """Reads the relative ids of accounts in a request of SamrLookupIdsInDomain."""
    return [cursor.u32("RelativeIds") for _ in range(_count(cursor, varying=True))]
