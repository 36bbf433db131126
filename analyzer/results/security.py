"""Identity and security of a call: who somebody is, how a call was secured, and whether sealed bytes could be decrypted."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.wire_numbers import WireNumbers

# The account of a null session, as Windows calls it ([MS-DTYP] section 2.4.2.4, ANONYMOUS, S-1-5-7).
ANONYMOUS_LOGON = "NT AUTHORITY\\ANONYMOUS LOGON"
# The account of a client that the server let in as a guest, whatever name it gave ([MS-SMB2] section 2.2.6,
# SMB2_SESSION_FLAG_IS_GUEST; [MS-CIFS] section 2.2.4.53.2, SMB_SETUP_GUEST). No message states the name of that account.
GUEST = "guest"

# The account of a logon for which no message gives a name.
UNKNOWN_USER = "unknown user"

# The source of an account's name.
AccountSource = Literal["handshake", "ticket", "kdc-reply", "answer"]
# What the server's answer to a logon granted: the account asked for, or less.
Granted = Literal["account", "guest", "anonymous"]
# How a logon ended; `bound`: it added a connection to a session, `unanswered`: no answer to it was captured, `undecided`: what was
# captured of an RPC logon does not show what the server decided.
LogonOutcome = Literal["account", "guest", "anonymous", "bound", "refused", "unanswered", "undecided"]
# The message with which a server refuses a logon.
RefusedBy = Literal["session setup", "bind_nak", "fault"]


def who_words(account: str | None, claimed: str | None, later: str | None = None) -> str:
    """Returns an identity in words: its account, with the claimed name if the server granted another. Also names the account that
    logged on `later` than the pipe was opened, if it differs: the server may have served the call as that account."""
    words = account if account is not None else UNKNOWN_USER
    if account is not None and claimed is not None:
        words += f" (claimed to be {claimed})"
    return f"{words}, or {later}, who logged on later" if later not in (None, account) else words


class AuthType(metaclass=WireNumbers):
    """RPC security providers, [MS-RPCE] section 2.2.1.1.7."""

    NONE = 0x00
    GSS_NEGOTIATE = 0x09
    WINNT = 0x0A
    GSS_SCHANNEL = 0x0E
    GSS_KERBEROS = 0x10
    NETLOGON = 0x44
    DEFAULT = 0xFF


class AuthLevel(metaclass=WireNumbers):
    """RPC authentication levels, [MS-RPCE] section 2.2.1.1.8. No PDU states UNKNOWN: what states the level was not captured."""

    UNKNOWN = 0
    NONE = 1
    CONNECT = 2
    CALL = 3
    PKT = 4
    INTEGRITY = 5
    PRIVACY = 6


_LEVEL_NAMES = {
    AuthLevel.UNKNOWN: "unknown",
    AuthLevel.NONE: "none",
    AuthLevel.CONNECT: "connect",
    AuthLevel.CALL: "call",
    AuthLevel.PKT: "pkt",
    AuthLevel.INTEGRITY: "integrity",
    AuthLevel.PRIVACY: "privacy",
}


def level_name(level: int) -> str:
    """Returns the name of an RPC authentication level; an unknown level stays a number."""
    return _LEVEL_NAMES.get(level) or str(level)


class Decryption(Enum):
    """Whether encrypted bytes could be decrypted, and if not, why."""

    DECRYPTED = "decrypted"
    NOT_SEALED = "not sealed"
    NO_KEY = "no key given for this principal"
    WRONG_KEY = "key given, wrong"
    NO_HANDSHAKE = "handshake not in the capture"
    BYTES_MISSING = "bytes missing"
    UNSUPPORTED = "algorithm unsupported"

    @property
    def lacks_key(self) -> bool:
        """Whether a key is what decryption lacks: none was given, or a wrong one."""
        return self in (Decryption.NO_KEY, Decryption.WRONG_KEY)


class Identity(Struct, frozen=True, cache_hash=True):
    """An identity: what an authentication handshake says in clear about the two ends. Every field is None where it was not stated.

    A handshake states who the client claims to be (`claimed`); the answer to an SMB logon states who it is from then on (`granted`,
    None where no answer was captured and for logons other than those of SMB). Displays ask `account`, which is what was granted.

    `mechanism` is `ntlm`, `krb5`, `spnego-ntlm`, `spnego-krb5`, `spnego` (chosen mechanism unknown), `schannel`, ... `user` and
    `domain` are the initiator's; `workstation` is its own name for itself. `server_*` come from the NTLM challenge's target
    information ([MS-NLMP] section 2.2.2.1), and `os_version` is its VERSION in the form `10.0.20348`. `service`, `realm`, `etype`
    and `kvno` are of the Kerberos ticket. `client_principal` is there once the ticket was opened, or where the KDC named the client
    in the reply that issued the ticket. In the second case `kdc_frames` are that reply's, and the name is not verified.
    `is_anonymous`: the initiator logged on without a name, or the server says so. `allows` is what an NTLM client lets the server
    do in its name: nothing where it gave no name, to look at who it is ([MS-NLMP] section 2.2.2.5, IDENTIFY), or to act as it.
    """

    mechanism: str | None = None
    user: str | None = None
    domain: str | None = None
    workstation: str | None = None
    server_name: str | None = None
    server_domain: str | None = None
    server_dns_name: str | None = None
    server_dns_domain: str | None = None
    server_dns_tree: str | None = None
    os_version: str | None = None
    client_os_version: str | None = None
    service: str | None = None
    realm: str | None = None
    etype: int | None = None
    kvno: int | None = None
    client_principal: str | None = None
    kdc_frames: tuple[int, ...] = ()
    is_anonymous: bool = False
    allows: Literal["nothing", "identification", "impersonation"] | None = None
    granted: Granted | None = None

    @property
    def account(self) -> str | None:
        """Returns the account of the identity: `GUEST` or `ANONYMOUS_LOGON` if the server granted these, else the claimed name."""
        if self.granted == "guest":
            return GUEST
        return ANONYMOUS_LOGON if self.is_anonymous else self.claimed

    @property
    def claimed(self) -> str | None:
        """Returns the name that the client claims: `DOMAIN\\\\name`, `name` or `name@REALM`; `ANONYMOUS_LOGON` without a name."""
        if self.client_principal is not None:
            return self.client_principal
        if self.is_anonymous and not self.user:
            return ANONYMOUS_LOGON
        if self.user is None:
            return None
        return f"{self.domain}\\{self.user}" if self.domain else self.user

    @property
    def claimed_otherwise(self) -> str | None:
        """Returns the name that the client claimed, if the server granted another account; else None."""
        return self.claimed if self.claimed != self.account else None

    @property
    def is_guest(self) -> bool:
        """Whether the identity is a guest: the server let the client in as one."""
        return self.granted == "guest"

    @property
    def account_source(self) -> AccountSource | None:
        """Returns what names the account: the handshake, the opened Kerberos ticket, the KDC's reply, or the server's answer if it
        granted less than was claimed. None if nothing does."""
        if self.claimed_otherwise is not None or self.is_guest:
            return "answer"
        if self.client_principal is not None:
            return "kdc-reply" if self.kdc_frames else "ticket"
        return "handshake" if self.account is not None else None

    @property
    def who(self) -> str:
        """Returns the identity in words for people: its account; says so if the name is not verified."""
        words = who_words(self.account, self.claimed_otherwise)
        return f"{words} (from the KDC's reply, not verified)" if self.kdc_frames else words


# Calls of one association share the result, so that its hash is computed once.
@lru_cache(maxsize=1024)
def of_any_logon(auth: AuthInfo) -> AuthInfo:
    """The security of a call without the number of its logon: two logons of one account are alike."""
    return replace(auth, logon=None)


class AuthInfo(Struct, frozen=True, cache_hash=True):
    """The security of one call: provider and level as wire numbers, who authenticated, and whether it could be opened.

    `mechanism` is the contract's name of it: `none`, `ntlm`, `spnego-ntlm`, `krb5`, `spnego-krb5`, `schannel`, ..., and `unknown`
    with the level UNKNOWN where what states both was not captured. `decrypted_by` says in words which of the user's keys opened it
    (`the NT hash of LAB\\\\perfmon`), None where none did. `logon` is the number of the `Logon` of its security context, None
    where that was not captured.
    """

    auth_type: int
    level: int
    mechanism: str
    identity: Identity | None
    decryption: Decryption
    verified: bool | None
    header_signed: bool | None
    decrypted_by: str | None = None
    logon: int | None = None

    def caller(self, of_session: Identity | None) -> Identity | None:
        """Returns the identity that makes a call: that of RPC, else that of the SMB session, which servers use without RPC.

        If somebody authenticated by RPC without a known name, nobody is named: the server acts for that one, not for the session's
        user. RPC answers state no guest. A client that claims the same name by RPC as in a session that was granted to a guest
        stays the guest: signatures prove which password the client used, not that the server knows the name.
        """
        by_rpc = self.identity
        if by_rpc is None:
            return of_session
        if by_rpc.account is None:
            return None
        if of_session is None or of_session.claimed_otherwise is None:
            return by_rpc
        return of_session if by_rpc.account.casefold() == of_session.claimed_otherwise.casefold() else by_rpc
