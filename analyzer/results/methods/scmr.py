"""The service control manager's interface: the methods that are decoded, and words for their numbers ([MS-SCMR] section 3.1.4)."""

from analyzer.core.wire_numbers import WireNumbers

INTERFACE = "367abb81-9844-35f1-ad32-98f038001003"
NAME = "svcctl"
ERROR_SUCCESS = 0
# In ChangeServiceConfig: leave this as it is.
SERVICE_NO_CHANGE = 0xFFFFFFFF


class ScmrOpnum(metaclass=WireNumbers):
    """Methods of the service control manager that are decoded."""

    CLOSE_SERVICE_HANDLE = 0
    CONTROL_SERVICE = 1
    DELETE_SERVICE = 2
    QUERY_SERVICE_STATUS = 6
    CHANGE_SERVICE_CONFIG_W = 11
    CREATE_SERVICE_W = 12
    OPEN_SC_MANAGER_W = 15
    OPEN_SERVICE_W = 16
    QUERY_SERVICE_CONFIG_W = 17
    START_SERVICE_W = 19
    CHANGE_SERVICE_CONFIG_A = 23
    CREATE_SERVICE_A = 24
    OPEN_SC_MANAGER_A = 27
    OPEN_SERVICE_A = 28
    QUERY_SERVICE_CONFIG_A = 29
    START_SERVICE_A = 31
    CREATE_SERVICE_WOW64_A = 44
    CREATE_SERVICE_WOW64_W = 45
    CREATE_WOW_SERVICE = 60


DECODED = frozenset(ScmrOpnum)
CREATING = frozenset(
    {
        ScmrOpnum.CREATE_SERVICE_W,
        ScmrOpnum.CREATE_SERVICE_A,
        ScmrOpnum.CREATE_SERVICE_WOW64_A,
        ScmrOpnum.CREATE_SERVICE_WOW64_W,
        ScmrOpnum.CREATE_WOW_SERVICE,
    }
)
CHANGING = frozenset({ScmrOpnum.CHANGE_SERVICE_CONFIG_W, ScmrOpnum.CHANGE_SERVICE_CONFIG_A})
OPENING = frozenset({ScmrOpnum.OPEN_SERVICE_W, ScmrOpnum.OPEN_SERVICE_A})
OPENING_MANAGER = frozenset({ScmrOpnum.OPEN_SC_MANAGER_W, ScmrOpnum.OPEN_SC_MANAGER_A})
STARTING = frozenset({ScmrOpnum.START_SERVICE_W, ScmrOpnum.START_SERVICE_A})
QUERYING = frozenset({ScmrOpnum.QUERY_SERVICE_CONFIG_W, ScmrOpnum.QUERY_SERVICE_CONFIG_A})

START_TYPES = {0: "boot", 1: "system", 2: "automatic", 3: "on demand", 4: "disabled"}
STATES = {
    1: "stopped",
    2: "start pending",
    3: "stop pending",
    4: "running",
    5: "continue pending",
    6: "pause pending",
    7: "paused",
}
CONTROLS = {1: "stop", 2: "pause", 3: "continue", 4: "interrogate", 6: "parameters changed"}
_SERVICE_TYPES = {
    0x1: "kernel driver",
    0x2: "file system driver",
    0x10: "own process",
    0x20: "shared process",
    0x100: "interactive",
}


def service_type_words(kind: int) -> str:
    """The type of a service in words: `own process, interactive`."""
    known = [words for bit, words in _SERVICE_TYPES.items() if kind & bit]
    rest = kind & ~sum(_SERVICE_TYPES)
    return ", ".join(known + ([f"{rest:#x}"] if rest or not known else []))
