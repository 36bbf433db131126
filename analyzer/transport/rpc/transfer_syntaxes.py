"""Names transfer syntaxes by UUID (C706 appendix I; [MS-RPCE] 2.2.4.12, 2.2.5, 3.3.1.5.3)."""

NDR = "8a885d04-1ceb-11c9-9fe8-08002b104860"
NDR64 = "71710533-beba-4937-8319-b5dbef9ccc36"
_FEATURES_PREFIX = "6cb71c2c-9812-4540-"

_NAMES = {NDR: "ndr", NDR64: "ndr64"}


def is_feature_negotiation(uuid: str) -> bool:
    """Whether a transfer syntax UUID is a set of bind-time features instead. Its last 8 bytes are a bit mask."""
    return uuid.startswith(_FEATURES_PREFIX)


def syntax_name(uuid: str) -> str:
    """Returns the name of a transfer syntax: `ndr`, `ndr64`, or the UUID itself."""
    return _NAMES.get(uuid, uuid)
