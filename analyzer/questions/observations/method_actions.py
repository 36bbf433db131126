"""Lists what methods of other interfaces do, for observations: data that anybody can read and add to.

A method stands by its name as scapy-rpc has it, which is that of its specification; `*` stands for the rest of a name (the forms W
and A, later versions). The first match counts. Severity says how much a caller learns or changes: `high` makes a machine run
something new or lets somebody in, `medium` changes something else or lists people, `info` lists the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache

from analyzer.questions.observations.observation_making import Deed

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
    """Returns the deed that a method does, for observations; None if the method is not listed."""
    patterns = METHODS.get(interface or "", {})
    return next((deed for pattern, deed in patterns.items() if fnmatchcase(method or "", pattern)), None)
