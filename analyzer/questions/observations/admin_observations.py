"""Makes observations of calls of other interfaces: services, tasks, accounts, shares, the registry; all other calls by method.

Calls are grouped by columns: caller, interface, method and outcome. Only calls that name an object (a service, a registry value)
are looked at one by one.

What methods of other interfaces do is a list, which anybody can read and add to. A method stands by its name as scapy-rpc has it,
which is that of its specification; `*` stands for the rest of a name (the forms W and A, later versions). The first match counts.
Severity says how much a caller learns or changes: `high` makes a machine run something new or lets somebody in, `medium` changes
something else or lists people, `info` lists the rest.

Accounts and groups that calls of samr and lsarpc are about have names and relative ids. Requests name them, or hand over a handle
that an earlier call opened by name or relative id ([MS-SAMR] section 3.1.5, [MS-LSAT] section 3.1.4). Their stubs are in NDR or
NDR64 ([MS-RPCE] sections 2.2.4 and 2.2.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from analyzer.core.array_functions import distinct
from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import DecodeError
from analyzer.questions.observations.observation_making import OUTCOMES, Deed, Draft, Scene, listed, who_in
from analyzer.questions.statistics.call_statistics import interface_label
from analyzer.results.calls.call import Call, ServiceFacts, Side
from analyzer.results.methods import scmr, winreg
from analyzer.results.records.statistics import Who
from analyzer.results.registry_and_service_facts import registry_value, service_facts

if TYPE_CHECKING:
    from analyzer.questions.statistics.shown_call_columns import Numbers


# ------------------------------------------------------------------------------------------------------- method actions


_ACCOUNT_CREATED = Deed("account-change", "high", "created an account or group", "create an account or group")
_ACCOUNT_DELETED = Deed("account-change", "high", "deleted an account or group", "delete an account or group")
_MEMBER_ADDED = Deed("account-change", "high", "added a member to a group", "add a member to a group")
_MEMBER_REMOVED = Deed("account-change", "medium", "removed a member from a group", "remove a member from a group")
_ACCOUNT_CHANGED = Deed("account-change", "medium", "changed an account or group", "change an account or group")
_PASSWORD_CHANGED = Deed("account-change", "medium", "changed a password", "change a password")
ACCOUNT_LISTS = Deed("account-list", "medium", "listed accounts or groups", "list accounts or groups", "of")
ACCOUNT_LOOKUPS = Deed("account-query", "info", "looked up accounts or groups", "look up accounts or groups", "of")
_DRIVER = Deed("driver", "high", "added a printer driver", "add a printer driver")
_COERCED = Deed("coerced-access", "medium", "asked for access to a path", "get access to a path", "from")
_SHUTDOWN = Deed("shutdown", "high", "started the shutdown", "start the shutdown", "of")
_SHARE_REMOVED = Deed("share-change", "medium", "removed a share", "remove a share")

# By interface ([MS-SCMR], [MS-TSCH], [MS-SAMR], [MS-SRVS], [MS-WKST], [MS-DRSR], [MS-NRPC], [MS-EFSR], [MS-RPRN], [MS-RSP],
# [MS-EVEN], section 3.1.4 of each): the pattern of a method, and what it does.
METHODS: Mapping[str, Mapping[str, Deed]] = {
    "svcctl": {
        "RCreateService*": Deed("service", "high", "created the service", "create the service"),
        "RCreateWowService": Deed("service", "high", "created the service", "create the service"),
        "RChangeServiceConfig[WA]": Deed("service-change", "high", "changed the service", "change the service"),
        "RStartService*": Deed("service-start", "medium", "started the service", "start the service"),
        "RDeleteService": Deed("service-delete", "medium", "deleted the service", "delete the service"),
        "REnumServicesStatus*": Deed("service-list", "info", "listed the services", "list the services", "of"),
    },
    "atsvc": {
        "NetrJobAdd": Deed("task", "high", "registered a task", "register a task"),
        "NetrJobDel": Deed("task-delete", "medium", "deleted a task", "delete a task"),
        "NetrJobEnum": Deed("task-list", "info", "listed the tasks", "list the tasks", "of"),
    },
    "ITaskSchedulerService": {
        "SchRpcRegisterTask": Deed("task", "high", "registered a task", "register a task"),
        "SchRpcRun": Deed("task-start", "medium", "started a task", "start a task"),
        "SchRpcDelete": Deed("task-delete", "medium", "deleted a task", "delete a task"),
        "SchRpcEnumTasks": Deed("task-list", "info", "listed the tasks", "list the tasks", "of"),
    },
    "samr": {
        "SamrCreate*": _ACCOUNT_CREATED,
        "SamrDelete*": _ACCOUNT_DELETED,
        "SamrAddMember*": _MEMBER_ADDED,
        "SamrAddMultipleMembers*": _MEMBER_ADDED,
        "SamrRemoveM*": _MEMBER_REMOVED,
        "SamrSetInformationUser*": _ACCOUNT_CHANGED,
        "SamrSetInformationGroup": _ACCOUNT_CHANGED,
        "SamrSetInformationAlias": _ACCOUNT_CHANGED,
        "Samr*ChangePassword*": _PASSWORD_CHANGED,
        "SamrSetDSRMPassword": _PASSWORD_CHANGED,
        "SamrEnumerateUsers*": ACCOUNT_LISTS,
        "SamrEnumerateGroups*": ACCOUNT_LISTS,
        "SamrEnumerateAliases*": ACCOUNT_LISTS,
        "SamrQueryDisplayInformation*": ACCOUNT_LISTS,
        "SamrGetMembers*": ACCOUNT_LISTS,
        "SamrGetAliasMembership": ACCOUNT_LOOKUPS,
    },
    "lsarpc": {"LsarLookup[NS][ai]*": ACCOUNT_LOOKUPS},
    "srvsvc": {
        "NetrSessionEnum": Deed("session-list", "medium", "listed the SMB sessions", "list the SMB sessions", "of"),
        "NetrShareEnum*": Deed("share-list", "info", "listed the shares", "list the shares", "of"),
        "NetrShareAdd": Deed("share-change", "high", "added a share", "add a share"),
        "NetrShareDel*": _SHARE_REMOVED,
    },
    "wkssvc": {
        "NetrWkstaUserEnum": Deed(
            "session-list", "medium", "listed the users logged on", "list the users logged on", "of"
        ),
    },
    "drsuapi": {
        "IDL_DRSGetNCChanges": Deed(
            "replication", "medium", "asked for changes of the directory", "get changes of the directory", "of"
        ),
    },
    "netlogon": {
        "NetrServerAuthenticate*": Deed(
            "machine-account", "info", "logged on as a machine", "log on as a machine", "to"
        ),
        "NetrServerPasswordSet*": Deed(
            "machine-account", "medium", "set the password of a machine", "set the password of a machine"
        ),
    },
    "efsrpc": {"EfsRpc*": _COERCED},
    "spoolss": {
        "RpcAddPrinterDriver*": _DRIVER,
        "RpcRemoteFindFirstPrinterChangeNotification*": Deed(
            "coerced-access", "medium", "asked for notifications", "get notifications", "from the spooler of"
        ),
    },
    "IRemoteWinspool": {"RpcAsyncAddPrinterDriver": _DRIVER, "RpcAsyncInstallPrinterDriverFromPackage": _DRIVER},
    "winreg": {"BaseInitiateSystemShutdown*": _SHUTDOWN},
    "InitShutdown": {"BaseInitiateShutdown*": _SHUTDOWN},
    "eventlog": {"ElfrClearELF*": Deed("log-cleared", "high", "cleared an event log", "clear an event log")},
}


@cache
def deed_of(interface: str | None, method: str | None) -> Deed | None:
    """Returns the deed, like a change of an account or a share, that a method of another interface does; None if the method is not
    listed."""
    patterns = METHODS.get(interface or "", {})
    return next((deed for pattern, deed in patterns.items() if fnmatchcase(method or "", pattern)), None)


# -------------------------------------------------------------------------------------------------------- account names


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
    """Reads a stub of an observed samr or lsarpc call, which names accounts. A `word` is a pointer or an array length: 4 or 8
    bytes, aligned to its size."""

    __slots__ = ("size",)

    def __init__(self, call: Call, side: Side) -> None:
        super().__init__(side.stub_data, order="big" if side.big_endian else "little")
        self.size = 8 if call.syntax == "ndr64" else 4

    def word(self, field: str) -> int:
        self.align(self.size)
        return self.u64(field) if self.size == 8 else self.u32(field)


class Accounts:
    """Follows for observations the accounts that one caller's samr and lsarpc calls at one server are about, call after call. It
    learns nothing of a call that others may have changed."""

    def __init__(self) -> None:
        self._handles: dict[bytes, str] = {}
        self._names: dict[int, str] = {}

    def accounts_of(self, call: Call) -> tuple[str, ...]:
        """Returns the accounts and groups that an observed samr or lsarpc call is about, as far as they are known."""
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
            and not call.is_altered
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
            is_sound = call.outcome == "answered" and not call.is_altered
            if is_sound and call.response is not None:
                self._learn(names, _NamingStub(call, call.response))
            return names
        if opnum == _LOOKUP_IDS:
            return [self._of_id(one) for one in _ids(cursor)]
        known = self._handles.get(handle)
        return [known] if known is not None else []

    def _of_id(self, relative_id: int) -> str:
        return self._names.get(relative_id) or f"RID {relative_id}"

    def _learn(self, names: Sequence[str], cursor: _NamingStub) -> None:
        """Notes which relative ids a server gave for account names in an observed call: SAMPR_ULONG_ARRAY ([MS-SAMR] section
        2.2.7.4)."""
        try:
            count, has_elements = cursor.u32("Count"), cursor.word("Element")
            if has_elements and count == cursor.word("max_count") == len(names):
                ids = [cursor.u32("Element") for _ in range(count)]
                if len(self._names) < _MOST_KNOWN:
                    self._names.update(zip(ids, names, strict=True))
        except DecodeError:
            return


def _count(cursor: _NamingStub, *, varying: bool) -> int:
    """Reads the number of elements of an array in an observed samr or lsarpc call, and skips its NDR counts. A `varying` array also
    has an offset and an actual count."""
    count = cursor.u32("Count")
    for name in ("max_count", "offset", "actual_count") if varying else ("max_count",):
        cursor.word(name)
    if count > _MOST_NAMES:
        raise DecodeError("more elements than there may be", field="Count")
    return count


def _names(cursor: _NamingStub, *, varying: bool) -> list[str]:
    """Reads an array of RPC_UNICODE_STRING: the names in an observed samr or lsarpc call."""
    return _strings(cursor, [_string_head(cursor) for _ in range(_count(cursor, varying=varying))])


def _string_head(cursor: _NamingStub) -> tuple[int, int]:
    """Reads the length and pointer of an RPC_UNICODE_STRING in an observed samr or lsarpc call ([MS-DTYP] section 2.3.10)."""
    cursor.align(cursor.size)
    length = cursor.u16("Length")
    cursor.u16("MaximumLength")
    return length, cursor.word("Buffer")


def _strings(cursor: _NamingStub, heads: Sequence[tuple[int, int]]) -> list[str]:
    """Reads the account names of an observed samr or lsarpc call, which stand after the heads of all strings."""
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
    """Reads the relative ids of accounts in an observed request of SamrLookupIdsInDomain."""
    return [cursor.u32("RelativeIds") for _ in range(_count(cursor, varying=True))]


# --------------------------------------------------------------------------------------------------- admin observations


# ERROR_INSUFFICIENT_BUFFER, ERROR_MORE_DATA, ERROR_NO_MORE_ITEMS ([MS-ERREF] section 2.2): a server says how much room it needs,
# or that a list has ended. If other calls of the same deed were answered, these belong to them.
_PART_OF_ANSWER = (122, 234, 259)
# The first objects of one caller and deed have an observation each; those beyond this number share one.
_MOST_OBJECTS = 100
_SHOWN_DATA = 200
_STOP = Deed("service-stop", "medium", "stopped the service", "stop the service")
_WRITE = Deed("registry-write", "medium", "wrote the registry value", "write the registry value")
_CREATE = Deed("registry-write", "medium", "created the registry key", "create the registry key")
_DELETE = Deed("registry-delete", "medium", "deleted from the registry", "delete from the registry")
_SAVE = Deed("registry-save", "medium", "saved to a file the registry key", "save to a file the registry key")
_READ = Deed("registry-read", "info", "read the registry keys", "read the registry keys")
_USERS = Deed(
    "session-list", "medium", "listed the users whose registry is loaded", "list the users whose registry is loaded"
)
_TOGETHER = (_READ, _USERS, ACCOUNT_LOOKUPS, ACCOUNT_LISTS)
_OTHER = Deed("other-calls", "info", "called", "call", "at")
_READING = (
    winreg.WinregOpnum.BASE_REG_QUERY_VALUE,
    winreg.WinregOpnum.BASE_REG_ENUM_VALUE,
    winreg.WinregOpnum.BASE_REG_ENUM_KEY,
    winreg.WinregOpnum.BASE_REG_QUERY_INFO_KEY,
    winreg.WinregOpnum.BASE_REG_QUERY_MULTIPLE_VALUES,
    winreg.WinregOpnum.BASE_REG_QUERY_MULTIPLE_VALUES2,
)
_DELETING = (
    winreg.WinregOpnum.BASE_REG_DELETE_VALUE,
    winreg.WinregOpnum.BASE_REG_DELETE_KEY,
    winreg.WinregOpnum.BASE_REG_DELETE_KEY_EX,
)
_SAVING = (winreg.WinregOpnum.BASE_REG_SAVE_KEY, winreg.WinregOpnum.BASE_REG_SAVE_KEY_EX)
# Methods that name their object, by interface.
_NAMING = {
    scmr.INTERFACE: (
        *scmr.CREATING,
        *scmr.CHANGING,
        *scmr.STARTING,
        scmr.ScmrOpnum.DELETE_SERVICE,
        scmr.ScmrOpnum.CONTROL_SERVICE,
    ),
    **NAMING,
    winreg.INTERFACE: (
        *_READING,
        *_DELETING,
        *_SAVING,
        winreg.WinregOpnum.BASE_REG_SET_VALUE,
        winreg.WinregOpnum.BASE_REG_CREATE_KEY,
    ),
}
# REG_CREATED_NEW_KEY ([MS-RRP] section 3.1.5.7); an existing key is opened otherwise.
_CREATED_NEW = 1
_CONTROL_STOP = 1
# Words for an object that the calls do not name.
_UNNAMED = "whose name is not known"
# Deed, object and what it runs or holds.
_About = tuple[Deed, str, str | None]
_What = TypeVar("_What", bound=Hashable)


def deed_drafts(scene: Scene) -> Iterator[Draft]:
    """Yields the observations of all calls that are not about performance (services, tasks, accounts, shares, registry). Each call
    is in one of them."""
    yield from _named(scene, scmr.INTERFACE, lambda: _about_service)
    yield from _named(scene, winreg.INTERFACE, lambda: _about_key)
    yield from _named(scene, SAMR, _account_reader)
    yield from _named(scene, LSARPC, _account_reader)
    yield from _by_method(scene)


def _named(scene: Scene, interface: str, reader: Callable[[], Callable[[Call], _About | None]]) -> Iterator[Draft]:
    """Yields observations of the services, accounts and keys that an interface's calls name. A `reader` takes the calls of one
    caller in order."""
    calls = scene.calls
    which = scene.left & calls.is_of(interface) & np.isin(calls.column("opnum"), _NAMING[interface])
    for who, places in calls.by(who_in, which).items():
        groups: dict[tuple[_About, int], list[int]] = {}
        about = reader()
        for place, call in zip(places.tolist(), scene.looked_at(places), strict=True):
            if (found := about(call)) is not None:
                groups.setdefault((found, int(scene.outcomes[place])), []).append(place)
        yield from _limited(scene, who, _joined(scene, groups))


def _joined(scene: Scene, groups: dict[tuple[_What, int], list[int]]) -> dict[tuple[_What, int], list[int]]:
    """Groups places of calls of other interfaces by deed and outcome. Refusals that are part of an answer (a small buffer) join the
    answered."""
    statuses = scene.calls.column("status")
    answered, refused = OUTCOMES.index("answered"), OUTCOMES.index("refused")
    for what, outcome in list(groups):
        if outcome == refused and (what, answered) in groups:
            parts = [place for place in groups[what, refused] if statuses[place] in _PART_OF_ANSWER]
            groups[what, answered] = sorted(groups[what, answered] + parts)
            rest = [place for place in groups.pop((what, refused)) if statuses[place] not in _PART_OF_ANSWER]
            if rest:
                groups[what, refused] = rest
    return groups


def _limited(scene: Scene, who: Who, groups: dict[tuple[_About, int], list[int]]) -> Iterator[Draft]:
    """Yields an observation for each object of admin calls. Objects beyond the limit share one for each deed and outcome, and so do
    all reads."""
    single: Counter[tuple[Deed, int]] = Counter()
    together: dict[tuple[Deed, int], tuple[list[int], dict[str, None]]] = {}
    for ((deed, name, detail), outcome), found in groups.items():
        single[deed, outcome] += 1
        if deed in _TOGETHER or single[deed, outcome] > _MOST_OBJECTS:
            more, names = together.setdefault((deed, outcome), ([], {}))
            more += found
            if name:
                names[name] = None
            continue
        places, words = np.array(found), f'"{name}"' if name else _UNNAMED
        objects = (name,) if name else ()
        ending = OUTCOMES[outcome]
        yield scene.deed(deed, ending, who, places, objects, _command(scene, places), detail=detail, words=words)
    for (deed, outcome), (more, names) in together.items():
        places, words = np.array(sorted(more)), "" if deed is _USERS else listed(names) or _UNNAMED
        if deed in (ACCOUNT_LOOKUPS, ACCOUNT_LISTS):
            words = f"({listed(names)})" if names else ""
        yield scene.deed(deed, OUTCOMES[outcome], who, places, tuple(names), _command(scene, places), words=words)


def _account_reader() -> Callable[[Call], _About | None]:
    """Returns a function that reads what an observed samr or lsarpc call does to which accounts and groups."""
    known = Accounts()

    def about(call: Call) -> _About | None:
        names = ", ".join(known.accounts_of(call))
        if call.interface.uuid == SAMR and call.opnum in OPENING:
            return None  # What is opened is asked about afterwards
        deed = deed_of("samr", call.method) or ACCOUNT_LOOKUPS
        # One account is created, changed and deleted.
        return deed, names, f"by {call.method}" if deed.kind == "account-change" else None

    return about


def _about_service(call: Call) -> _About | None:
    """Returns what an observed call of the service control manager does to which service, with its settings; None if it is not
    observed."""
    facts = service_facts(call)
    name = (facts.name if facts is not None else None) or ""
    if call.opnum == scmr.ScmrOpnum.CONTROL_SERVICE:
        control = call.request.params.get("dwControl") if call.request is not None else None
        return (_STOP, name, None) if control == _CONTROL_STOP else None
    deed = deed_of(scmr.NAME, call.method)
    if deed is None:
        return None
    return deed, name, _settings(facts) if facts is not None else None


def _settings(facts: ServiceFacts) -> str | None:
    """Describes for an observation how a call configures a service: what it runs, when and as whom, as far as the call states
    it."""
    parts = [f'which runs "{facts.image_path}"'] if facts.image_path else []
    parts += [f"start {facts.start}"] if facts.start else []
    parts += [f"as {facts.account}"] if facts.account else []
    parts += [f"with {' '.join(facts.arguments)}"] if facts.arguments else []
    return ", ".join(parts) or None


def _about_key(call: Call) -> _About | None:
    """Returns what an observed call of the remote registry does to which key or value, with the data; None if it opens an existing
    key."""
    path, opnum = call.path or "", call.opnum
    if opnum in _READING:
        if (
            opnum == winreg.WinregOpnum.BASE_REG_ENUM_KEY
            and path == winreg.PREDEFINED_KEYS[winreg.WinregOpnum.OPEN_USERS]
        ):
            return _USERS, path, None
        return _READ, path, None
    if opnum in _SAVING:
        return _SAVE, path, None
    if opnum == winreg.WinregOpnum.BASE_REG_CREATE_KEY:
        answer: Any = call.response.params.get("lpdwDisposition") if call.response is not None else None
        return (_CREATE, path, None) if answer == _CREATED_NEW or call.outcome != "answered" else None
    value = registry_value(call)
    name = "\\".join(filter(None, (path, value.name if value is not None else None)))
    if opnum in _DELETING:
        return _DELETE, name, None
    return _WRITE, name, _data(value.content() if value is not None else None)


def _data(content: Any) -> str | None:
    """Describes the data of a registry value for an observation."""
    if content is None:
        return None
    words = content.hex() if isinstance(content, bytes) else str(content)
    return f'with "{words if len(words) <= _SHOWN_DATA else words[: _SHOWN_DATA - 1] + "…"}"'


def _by_method(scene: Scene) -> Iterator[Draft]:
    """Yields observations of calls of other interfaces that name no object, by caller, method and outcome."""
    calls = scene.calls
    for who, of_who in calls.by(who_in, scene.left).items():
        groups: dict[tuple[tuple[Deed, str], int], list[int]] = {}
        for places in _split_by_code(of_who, calls.column("context")[of_who]):
            facts = calls.context(places[0]).interface
            for of_method in _split_by_code(places, calls.column("opnum")[places]):
                method = next(calls.values("method", of_method[:1]), None)
                opnum = int(calls.column("opnum")[of_method[0]])
                label = f"{interface_label(facts)}.{method or (f'opnum {opnum}' if opnum >= 0 else 'unknown')}"
                deed = deed_of(facts.name, method) or _OTHER
                for of_outcome in _split_by_code(of_method, scene.outcomes[of_method]):
                    key = (deed, label if deed is _OTHER else ""), int(scene.outcomes[of_outcome[0]])
                    groups.setdefault(key, []).extend(of_outcome.tolist())
        for ((deed, label), outcome), found in _joined(scene, groups).items():
            places = np.array(sorted(found))
            objects = (label,) if label else _labels(scene, places)
            yield scene.deed(deed, OUTCOMES[outcome], who, places, objects, _command(scene, places), words=label)


def _labels(scene: Scene, places: Numbers) -> tuple[str, ...]:
    """Returns the methods of observed calls of other interfaces, each once, with their interface."""
    interfaces = (one.interface for one in scene.calls.contexts(places))
    names = listed(interface_label(one) for one in interfaces)
    return tuple(f"{names}.{method}" for method in scene.calls.values("method", places) if method)


def _split_by_code(places: Numbers, codes: Numbers) -> Iterator[Numbers]:
    """Splits the places of observed calls of other interfaces by their codes, in the order of the codes."""
    for code in distinct(codes).tolist():
        yield places[codes == code]


def _command(scene: Scene, places: Numbers) -> str:
    """Returns the command that shows all calls of these calls' interfaces, for an observation."""
    names = dict.fromkeys(
        interface_label(one.interface) for one in scene.calls.contexts(places) if one.interface.uuid is not None
    )
    return scene.command("timeline", interfaces=tuple(names))
