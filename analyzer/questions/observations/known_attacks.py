"""Finds observations that look like a known attack, and notes that in them. It never claims that somebody attacks.

Each function with `@attack` looks for one attack. Its docstring is the page of this attack.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from analyzer.questions.observations.logon_observations import OF_PASSWORD
from analyzer.questions.observations.observation_making import Draft, Scene
from analyzer.results.records.observation import SEVERITIES, Confidence, Severity


class Likeness(Struct, frozen=True):
    """Observations that look like an attack: how sure that is, why, and their severity if the attack raises it."""

    drafts: Sequence[Draft]
    confidence: Confidence
    why: str
    severity: Severity | None = None
    # Where not all techniques of the attack are meant.
    techniques: tuple[str, ...] = ()


Search = Callable[[Sequence[Draft], Scene], Iterator[Likeness]]


class Attack(Struct, frozen=True):
    """A known attack with its code and name; `techniques` are ids of MITRE ATT&CK, `sources` say where it is described."""

    code: str
    name: str
    techniques: tuple[str, ...]
    sources: tuple[str, ...]
    find: Search

    @property
    def page(self) -> str:
        """Returns the page of an attack: what it looks for, what else does the same, and when it is silent."""
        return inspect.cleandoc(self.find.__doc__ or "")

    @property
    def title(self) -> str:
        return self.page.partition("\n")[0]


_KNOWN: dict[str, Attack] = {}


def attack(code: str, *, techniques: Sequence[str], sources: Sequence[str]) -> Callable[[Search], Search]:
    """Registers a function that finds an attack; the attack has the function's name."""

    def register(find: Search) -> Search:
        name = getattr(find, "__name__", "").replace("_", "-")
        _KNOWN[code] = Attack(code, name, tuple(techniques), tuple(sources), find)
        return find

    return register


_WENT_THERE = "ERROR_BAD_NETPATH"


@attack(
    "ATK08",
    techniques=("T1187",),
    sources=(
        "https://attack.mitre.org/techniques/T1187/",
        "https://github.com/topotam/PetitPotam",
        "https://github.com/corelight/CVE-2021-36942",
        "[MS-EFSR] section 3.1.4.2, [MS-RPRN] section 3.1.4.10.4",
    ),
)
def coerced_authentication(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A machine was asked to open a path or to send notifications, which makes it authenticate elsewhere (PetitPotam, PrinterBug).

    Looks for: methods of the interface of the encrypting file system, and requests for notifications of a spooler. The error
    ERROR_BAD_NETPATH shows that the machine tried to open the path.

    What else does the same: programs that work with encrypted files over the network, and clients that print. Both are rare
    between servers.

    How sure: likely where the answer is ERROR_BAD_NETPATH, else possible.

    Silent: where the calls are sealed and the interface is not known.
    """
    for one in drafts:
        if one.kind != "coerced-access":
            continue
        if _WENT_THERE in (one.reason or ""):
            why = "the machine went to the path that the caller named, and authenticates where it goes"
            yield Likeness((one,), "likely", why, "high")
        else:
            yield Likeness((one,), "possible", "machines are made to authenticate elsewhere so; few programs call this")


_HIVE = re.compile(r"HKLM\\(SAM|SECURITY|SYSTEM)\Z", re.I)
_TECHNIQUES = {"SAM": "T1003.002", "SECURITY": "T1003.004", "SYSTEM": "T1003.002"}


@attack(
    "ATK11",
    techniques=("T1003.002", "T1003.004"),
    sources=(
        "https://attack.mitre.org/techniques/T1003/002/",
        "https://attack.mitre.org/techniques/T1003/004/",
        "[MS-RRP] section 3.1.5.20",
    ),
)
def credential_hives(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    r"""A hive of the registry that holds secrets was saved to a file from afar, as secretsdump does.

    Looks for: BaseRegSaveKey and BaseRegSaveKeyEx of HKLM\SAM, HKLM\SECURITY and HKLM\SYSTEM.

    What else does the same: backups of the registry. They save other hives too, and seldom over the remote registry.

    How sure: likely for SAM and SECURITY, possible for SYSTEM.

    Silent: where the server refused it, the call is sealed, or the opening of the key was not captured.
    """
    for one in drafts:
        if one.kind != "registry-save" or one.outcome == "refused":
            continue
        for hive in filter(None, map(_HIVE.match, one.objects)):
            name = hive[1].upper()
            why = f"{name} holds secrets of the machine, or what opens them; backups save hives too"
            yield Likeness((one,), "possible" if name == "SYSTEM" else "likely", why, "high", (_TECHNIQUES[name],))


@attack(
    "ATK06",
    techniques=("T1003.006",),
    sources=("https://attack.mitre.org/techniques/T1003/006/", "[MS-DRSR] section 4.1.10"),
)
def directory_replication(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """Changes of the directory were asked for, which carry the secrets of a domain (DCSync).

    Looks for: IDL_DRSGetNCChanges. Domain controllers call it with their machine account, and its name ends with `$`. So calls with
    another account count, and calls with a machine account from a client that states another machine name.

    What else does the same: products that synchronise directories, with an account of their own.

    How sure: likely.

    Silent: where the account is not known, where it is a machine account and the client states no other machine name, and where the
    server refused the call or no answer was captured.
    """
    for one in drafts:
        if one.kind != "replication" or one.outcome in ("refused", "asked"):
            continue
        if one.who is None or one.who.user is None:
            continue
        account = one.who.user.rpartition("\\")[2].partition("@")[0]
        machine = scene.names.get(one.who.client_ip, "").partition(".")[0]
        if not account.endswith("$"):
            why = f"{account} is the account of no machine, and asked as a domain controller does"
        elif machine and account[:-1].casefold() != machine.casefold():
            why = f"the account is that of the machine {account[:-1]}, and the client calls itself {machine}"
        else:
            continue
        yield Likeness((one,), "likely", f"{why}; products that synchronise directories ask too", "high")


_NAMELESS = ("NT AUTHORITY\\ANONYMOUS LOGON", "unknown user")
_SPRAYED, _GUESSED = 5, 10


@attack(
    "ATK10",
    techniques=("T1110.003", "T1110.001"),
    sources=("https://attack.mitre.org/techniques/T1110/003/", "https://attack.mitre.org/techniques/T1110/001/"),
)
def password_guessing(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """Logons of many accounts, or many logons of one, were refused because of the password.

    Looks for: refusals for one client at one server: of five or more accounts (spraying), or ten or more refusals of fewer accounts
    (guessing). Refusals are STATUS_LOGON_FAILURE, STATUS_WRONG_PASSWORD, STATUS_NO_SUCH_USER or STATUS_ACCOUNT_LOCKED_OUT.

    What else does the same: a terminal server or gateway through which many people log on, a service whose password has expired.

    How sure: likely for many accounts, possible for one.

    Silent: for logons without a name, and for other errors.
    """
    for one in drafts:
        if one.kind != "refused-logon" or not OF_PASSWORD.search(one.reason or ""):
            continue
        accounts = [name for name in one.objects if name not in _NAMELESS]
        if len(accounts) >= _SPRAYED:
            why = f"{len(accounts)} accounts of one client were refused; a gateway of many people does the same"
            yield Likeness((one,), "likely", why, "high", ("T1110.003",))
        elif accounts and one.count >= _GUESSED:
            why = "one client was refused many times; a service with an expired password does the same"
            yield Likeness((one,), "possible", why, None, ("T1110.001",))


_VALUE = re.compile(r"\\Services\\[^\\]+\\Performance\\(?:Library|Open|Collect|Close)\Z", re.I)
_READS = frozenset({"process-list", "logged-on-sessions", "network", "counters", "enumeration", "attempt"})


@attack(
    "ATK02",
    techniques=("T1112",),
    sources=(
        "https://attack.mitre.org/techniques/T1112/",
        "https://github.com/0xthirteen/PerfExec",
        "https://learn.microsoft.com/windows/win32/perfctrs/creating-the-applications-performance-key",
    ),
)
def performance_library(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    r"""A library was registered as one that supplies performance counters, over the remote registry.

    Looks for: writes of the values Library, Open, Collect or Close of a key Services\NAME\Performance. A later read of
    HKEY_PERFORMANCE_DATA makes the machine load that library. So later reads of the same machine make it more sure, and are part of
    the observation.

    What else does the same: a management tool that installs a product with counters (lodctr) remotely.

    How sure: likely where counters of the machine were asked for afterwards, else possible.

    Silent: where the write is sealed, and where the opening of the key was not captured.
    """
    for draft in drafts:
        if draft.kind != "registry-write" or not any(_VALUE.search(name) for name in draft.objects):
            continue
        later = [
            one
            for one in drafts
            if one.kind in _READS
            and one.who is not None
            and draft.who is not None
            and one.who.server_ip == draft.who.server_ip
            and (one.last_time_ns or 0) > (draft.first_time_ns or 0)
        ]
        why = "a library was registered that the next query of counters loads"
        if later:
            yield Likeness(
                (draft,), "likely", f"{why}, and such a query followed; installing counters does the same", "high"
            )
        else:
            yield Likeness((draft,), "possible", f"{why}; installing counters does the same", "high")


@attack(
    "ATK01",
    techniques=("T1057",),
    sources=("https://attack.mitre.org/techniques/T1057/", "https://nmap.org/nsedoc/scripts/smb-enum-processes.html"),
)
def process_discovery(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A list of the processes of a machine was read through its performance counters.

    Looks for: answers that held values or instances of the object Process or of a counterset of processes.

    What else does the same: performance monitors, and perfmon and typeperf of an administrator. Such a client asks at regular
    intervals, and for other objects too. A discovery tool asks once.

    How sure: possible.

    Silent: where the server refused the requests, or the answers are sealed or hold nothing.
    """
    for draft in drafts:
        if draft.kind == "process-list":
            yield Likeness((draft,), "possible", "a process list is read to find what runs; every monitor reads it too")


@attack(
    "ATK03",
    techniques=("T1543.003", "T1569.002"),
    sources=(
        "https://attack.mitre.org/techniques/T1569/002/",
        "https://attack.mitre.org/techniques/T1543/003/",
        "https://attack.mitre.org/software/S0029/",
        "[MS-SCMR] sections 3.1.4.12 and 3.1.4.19",
    ),
)
def remote_service(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """One client made a service on another machine, and started it, as psexec does.

    Looks for: a service that was created and started by the same client at the same server. A start that ended with an error
    counts: a program that is no service runs, and the service control manager stops waiting for it. If the same client deleted the
    service, that makes it more sure.

    What else does the same: PsExec in the hands of administrators, tools that distribute software, agents of backup and inventory.

    How sure: likely where the service was deleted again, else possible. Possible too where the calls are sealed, so that the name
    is not known, or where no answers were captured. Without answers, the client must ask to start a service of the name that it
    asked to create, or without a known name.

    Silent: where a service was only created, or only started.
    """
    made = [one for one in drafts if one.kind == "service" and one.outcome != "refused"]
    for one in made:
        same = [
            other
            for other in drafts
            if other.who == one.who
            and (tuple(other.objects) == tuple(one.objects) or (one.outcome == "asked" and not other.objects))
            and (other.outcome == one.outcome or (other.outcome == "refused" and other.kind == "service-start"))
        ]
        started = [other for other in same if other.kind == "service-start"]
        deleted = [other for other in same if other.kind == "service-delete"]
        if not started:
            continue
        is_sure = bool(deleted) and bool(one.objects) and one.outcome != "asked"
        words = "created, started and deleted" if deleted else "created and started"
        yield Likeness(
            (one, *started, *deleted),
            "likely" if is_sure else "possible",
            f"a service was {words} by one client, as psexec does; so do tools that distribute software"
            if one.outcome != "asked"
            else f"one client asked for a service to be {words}, as psexec does; so do tools that distribute software",
        )


_RUN = re.compile(r"\\(?:CurrentVersion\\(?:RunOnceEx|RunOnce|RunServices|Run)|Policies\\Explorer\\Run)\\", re.I)


@attack(
    "ATK05",
    techniques=("T1547.001",),
    sources=("https://attack.mitre.org/techniques/T1547/001/", "[MS-RRP] section 3.1.5.22"),
)
def run_key(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    r"""A value was written that Windows runs when somebody logs on, over the remote registry.

    Looks for: BaseRegSetValue of a value below Microsoft\Windows\CurrentVersion\Run, RunOnce, RunOnceEx, RunServices, or
    Policies\Explorer\Run, of the machine or of a user.

    What else does the same: installers and management tools that work over the remote registry, which is rare.

    How sure: likely where the server wrote it, possible where no answer was captured.

    Silent: where the server refused it, the write is sealed, or the opening of the key was not captured.
    """
    for one in drafts:
        if one.kind == "registry-write" and one.outcome != "refused" and any(map(_RUN.search, one.objects)):
            why = "what stands there runs at the next logon; installers that work from afar write there too"
            yield Likeness((one,), "likely" if one.outcome == "answered" else "possible", why, "high")


@attack(
    "ATK04",
    techniques=("T1053.005", "T1053.002"),
    sources=(
        "https://attack.mitre.org/techniques/T1053/005/",
        "https://attack.mitre.org/techniques/T1053/002/",
        "[MS-TSCH]",
    ),
)
def scheduled_task(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A task was registered on another machine.

    Looks for: SchRpcRegisterTask and NetrJobAdd. If the same client also starts and deletes the task, that makes it more sure:
    tools run remote commands this way.

    What else does the same: administrators, and tools that distribute software or plan maintenance.

    How sure: likely where the same client started and deleted tasks too, else possible.

    Silent: where the server refused it.
    """
    for one in drafts:
        if one.kind != "task" or one.outcome == "refused":
            continue
        ends = [other for other in drafts if other.who == one.who and other.kind in ("task-start", "task-delete")]
        is_sure = {"task-start", "task-delete"} == {other.kind for other in ends}
        words = "registered, started and deleted" if is_sure else "registered"
        yield Likeness(
            (one, *ends) if is_sure else (one,),
            "likely" if is_sure else "possible",
            f"a task was {words} from another machine; administrators and tools that plan maintenance do so too",
            None,
            ("T1053.002",) if any(map(_is_at, one.objects)) else ("T1053.005",),
        )


def _is_at(method: str) -> bool:
    """Tells whether the task in a known attack was registered through atsvc, the older interface that `at` uses."""
    return method.startswith("atsvc.")


@attack(
    "ATK09",
    techniques=("T1049", "T1033"),
    sources=(
        "https://attack.mitre.org/techniques/T1049/",
        "https://attack.mitre.org/techniques/T1033/",
        "https://nmap.org/nsedoc/scripts/smb-enum-sessions.html",
        "[MS-SRVS] section 3.1.4.5, [MS-WKST] section 3.2.4.3",
    ),
)
def session_discovery(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """Who is connected to a machine or logged on to it was listed.

    Looks for: NetrSessionEnum (sessions of SMB), NetrWkstaUserEnum (users logged on), keys of HKEY_USERS (users whose registry is
    loaded), and counters of Terminal Services.

    What else does the same: administrators, file servers that display their sessions, monitors of terminal servers.

    How sure: possible.

    Silent: where the server refused it or no answer was captured.
    """
    for one in drafts:
        if one.kind in ("session-list", "logged-on-sessions") and one.outcome not in ("refused", "asked"):
            is_smb = any("NetrSessionEnum" in name for name in one.objects)
            why = "it shows where to find whom; administrators and monitors list sessions too"
            yield Likeness((one,), "possible", why, None, ("T1049",) if is_smb else ("T1033",))


_LOOKED_AT = 16


@attack(
    "ATK07",
    techniques=("T1210",),
    sources=(
        "https://attack.mitre.org/techniques/T1210/",
        "https://nvd.nist.gov/vuln/detail/CVE-2020-1472",
        "https://www.secura.com/blog/zero-logon",
        "[MS-NRPC] sections 3.5.4.4.2 and 3.1.4.1",
    ),
)
def zero_credential(drafts: Sequence[Draft], scene: Scene) -> Iterator[Likeness]:
    """A client authenticated to Netlogon as a machine, with a credential of eight zeros (Zerologon, CVE-2020-1472).

    Looks for: requests of NetrServerAuthenticate2 and NetrServerAuthenticate3 whose ClientCredential is zero. If the same client
    then sets the password of a machine, that call is part of the observation.

    What else does the same: scanners that look whether a server is vulnerable. A credential is the result of a cipher: by chance
    it is zero once in 2 to the 64.

    How sure: likely.

    Silent: where the requests are sealed or not captured, and with `--redact`, which replaces credentials by zeros.
    """
    if scene.analysis.capture.redacted:
        return
    zero = [
        one for one in drafts if one.kind == "machine-account" and any(map(_is_zero, _netlogon_requests(one, scene)))
    ]
    for who in dict.fromkeys(one.who for one in zero):
        found = [one for one in drafts if one.kind == "machine-account" and one.who == who]
        let_in = any(one.outcome == "answered" for one in found)
        why = "the credential is eight zeros, which no cipher yields but by chance; scanners send it too"
        yield Likeness(
            found, "likely", f"{why}{'; the server let it in' if let_in else ''}", "high" if let_in else "medium"
        )


def _netlogon_requests(one: Draft, scene: Scene) -> Iterator[bytes]:
    """Yields the request stubs in which a known attack on Netlogon shows: those of an observation's first calls that authenticate
    to it."""
    for number in one.calls[:_LOOKED_AT]:
        call = scene.analysis.calls[number - 1]
        if (call.method or "").startswith("NetrServerAuthenticate") and call.request is not None:
            yield call.request.stub_data


def _is_zero(stub: bytes) -> bool:
    """Tells whether the ClientCredential of a Netlogon request is zero, as that attack sends it: the eight bytes before the aligned
    NegotiateFlags at its end. With padding between them, only the last bytes of the credential are looked at."""
    return len(stub) > 12 and not any(stub[-12:-4])


@cache
def every_attack() -> tuple[Attack, ...]:
    """Returns all known attacks, sorted by code."""
    return tuple(_KNOWN[code] for code in sorted(_KNOWN))


def attacks_named(words: Sequence[str]) -> list[Attack]:
    """Returns the known attacks with these codes or names; an empty list if a word names no attack."""
    known = {word: one for one in every_attack() for word in (one.code, one.name)}
    return [known[word] for word in words] if all(word in known for word in words) else []


def note_attacks(drafts: Sequence[Draft], scene: Scene) -> None:
    """Notes in observations which attacks they look like. An observation that looks like several attacks gets the highest severity
    and the lowest confidence of them."""
    for known in every_attack():
        for likeness in known.find(drafts, scene):
            for draft in likeness.drafts:
                _note(draft, known, likeness)


_CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


def _note(draft: Draft, known: Attack, likeness: Likeness) -> None:
    techniques = likeness.techniques or known.techniques
    draft.techniques = tuple(dict.fromkeys((*draft.techniques, *techniques)))
    draft.attacks = (*draft.attacks, known.code)
    draft.whys = (*draft.whys, likeness.why)
    draft.confidence = max(draft.confidence, likeness.confidence, key=_CONFIDENCES.index)
    if likeness.severity is not None:
        draft.severity = min(draft.severity, likeness.severity, key=SEVERITIES.index)
