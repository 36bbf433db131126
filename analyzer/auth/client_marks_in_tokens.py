"""Finds marks of a client's program in its NTLM and SPNEGO tokens: differences between programs that no user chooses.

A mark is `name=value`. A token that cannot be read gives none.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.auth.ntlm import Authenticate, Flag, Negotiate, parse_message
from analyzer.auth.security_types import NTLM_SIGNATURE
from analyzer.auth.spnego import is_spnego, parse_spnego
from analyzer.core.errors import DecodeError

# The place of the client's challenge in an NTLMv2 response ([MS-NLMP] section 2.2.2.7).
_CLIENT_CHALLENGE = slice(32, 40)
# Flags that the caller chooses and not the program: sign, seal, and what the server may do in its name.
_ASKED = Flag.SIGN | Flag.SEAL | Flag.IDENTIFY


def token_marks(token: bytes, by: str) -> Iterator[str]:
    """Yields the marks of the client's program in an NTLM or SPNEGO token. `by` names the carrier, `smb` or `rpc`."""
    try:
        if is_spnego(token):
            spnego = parse_spnego(token)
            if spnego.is_init:
                yield f"{by}.mechanisms={' '.join(spnego.mechanisms)}"
            token = spnego.token or b""
        elif token.startswith(NTLM_SIGNATURE + b"\1"):
            yield f"{by}.mechanisms=bare ntlm"
        if token.startswith(NTLM_SIGNATURE):
            yield from _ntlm_marks(token, by)
    except DecodeError:
        return


def _ntlm_marks(token: bytes, by: str) -> Iterator[str]:
    message = parse_message(token)
    if isinstance(message, Negotiate):
        yield f"{by}.ntlm_flags={message.flags & ~_ASKED:#010x}"
        yield f"{by}.ntlm_version={_version(message.os_version)}"
        named = [name for name, value in (("domain", message.domain), ("workstation", message.workstation)) if value]
        yield f"{by}.ntlm_names={' '.join(named) or 'none'}"
    elif isinstance(message, Authenticate) and not message.is_anonymous:
        yield f"{by}.ntlm_workstation={'named' if message.workstation else 'none'}"
        yield f"{by}.ntlm_mic={'none' if message.ofs_mic is None else 'there'}"
        yield f"{by}.ntlm_authenticate_version={_version(message.os_version)}"
        challenge = message.nt_response[_CLIENT_CHALLENGE] if message.is_v2 else b""
        if challenge:
            yield f"{by}.ntlm_client_challenge={'letters' if challenge.isalnum() else 'bytes'}"


def _version(stated: str | None) -> str:
    """Returns the version in an NTLM token as a client's mark: `none`, `0.0.0`, or major and minor. The build differs from machine
    to machine, so it is no mark."""
    if stated is None:
        return "none"
    major, _, rest = stated.partition(".")
    minor, _, build = rest.partition(".")
    return f"{major}.{minor}.0" if build == "0" else f"{major}.{minor}"
