"""Makes observations of calls of other interfaces: services, tasks, accounts, shares, the registry; all other calls by method.

Calls are grouped by columns: caller, interface, method and outcome. Only calls that name an object (a service, a registry value)
are looked at one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from analyzer.core.array_functions import distinct
from analyzer.questions.observations import account_names
from analyzer.questions.observations.method_actions import ACCOUNT_LISTS, ACCOUNT_LOOKUPS, deed_of
from analyzer.questions.observations.observation_making import OUTCOMES, Deed, Draft, Scene, listed, who_in
from analyzer.questions.statistics.summary import interface_label
from analyzer.results.calls.call import Call, ServiceFacts
from analyzer.results.methods import scmr, winreg
from analyzer.results.records.statistics import Who
from analyzer.results.registry_values import registry_value
from analyzer.results.service_of_call import service_facts

if TYPE_CHECKING:
    from analyzer.questions.statistics.shown_call_columns import Numbers

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
    **account_names.NAMING,
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
    yield from _named(scene, account_names.SAMR, _account_reader)
    yield from _named(scene, account_names.LSARPC, _account_reader)
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
    """Groups places of admin calls by deed and outcome. Refusals that are part of an answer (a small buffer) join the answered."""
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
    """Returns a function that reads what a samr or lsarpc call does to which accounts and groups."""
    known = account_names.Accounts()

    def about(call: Call) -> _About | None:
        names = ", ".join(known.accounts_of(call))
        if call.interface.uuid == account_names.SAMR and call.opnum in account_names.OPENING:
            return None  # What is opened is asked about afterwards
        deed = deed_of("samr", call.method) or ACCOUNT_LOOKUPS
        # One account is created, changed and deleted.
        return deed, names, f"by {call.method}" if deed.kind == "account-change" else None

    return about


def _about_service(call: Call) -> _About | None:
    """Returns what a call of the service control manager does to which service, with its settings; None if it is not observed."""
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
    """Describes how a call configures a service: what it runs, when and as whom, as far as the call states it."""
    parts = [f'which runs "{facts.image_path}"'] if facts.image_path else []
    parts += [f"start {facts.start}"] if facts.start else []
    parts += [f"as {facts.account}"] if facts.account else []
    parts += [f"with {' '.join(facts.arguments)}"] if facts.arguments else []
    return ", ".join(parts) or None


def _about_key(call: Call) -> _About | None:
    """Returns what a call of the remote registry does to which key or value, with the data; None if it opens an existing key."""
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
    """Yields observations of admin calls that name no object, by caller, method and outcome."""
    calls = scene.calls
    for who, of_who in calls.by(who_in, scene.left).items():
        groups: dict[tuple[tuple[Deed, str], int], list[int]] = {}
        for places in _split(of_who, calls.column("context")[of_who]):
            facts = calls.context(places[0]).interface
            for of_method in _split(places, calls.column("opnum")[places]):
                method = next(calls.values("method", of_method[:1]), None)
                opnum = int(calls.column("opnum")[of_method[0]])
                label = f"{interface_label(facts)}.{method or (f'opnum {opnum}' if opnum >= 0 else 'unknown')}"
                deed = deed_of(facts.name, method) or _OTHER
                for of_outcome in _split(of_method, scene.outcomes[of_method]):
                    key = (deed, label if deed is _OTHER else ""), int(scene.outcomes[of_outcome[0]])
                    groups.setdefault(key, []).extend(of_outcome.tolist())
        for ((deed, label), outcome), found in _joined(scene, groups).items():
            places = np.array(sorted(found))
            objects = (label,) if label else _labels(scene, places)
            yield scene.deed(deed, OUTCOMES[outcome], who, places, objects, _command(scene, places), words=label)


def _labels(scene: Scene, places: Numbers) -> tuple[str, ...]:
    """Returns the methods of observed admin calls, each once, with their interface."""
    interfaces = (one.interface for one in scene.calls.contexts(places))
    names = listed(interface_label(one) for one in interfaces)
    return tuple(f"{names}.{method}" for method in scene.calls.values("method", places) if method)


def _split(places: Numbers, codes: Numbers) -> Iterator[Numbers]:
    """Splits the places of observed calls by their codes, in the order of the codes."""
    for code in distinct(codes).tolist():
        yield places[codes == code]


def _command(scene: Scene, places: Numbers) -> str:
    """Returns the command that shows all calls of these calls' interfaces, for an observation."""
    names = dict.fromkeys(
        interface_label(one.interface) for one in scene.calls.contexts(places) if one.interface.uuid is not None
    )
    return scene.command("timeline", interfaces=tuple(names))
