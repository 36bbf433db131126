"""Decrypts SMB3 transform messages with the keys of their sessions ([MS-SMB2] sections 2.2.41 and 3.3.5.2.1.1).

A session's keys come from its own setup, or from the keyring by session id; the first that opens a message is kept.
What stays encrypted is counted, and reported once per session with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.events import Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.security import Decryption
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.smb3_crypto import (
    AES_128_CCM,
    AES_128_GCM,
    AES_256_CCM,
    AES_256_GCM,
    CIPHERS,
    DIALECT_300,
    TRANSFORM_LEN,
    SessionKeys,
    decrypt_transform,
    derive_keys,
)
from analyzer.transport.smb.smb_connection_state import ConnectionState
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_session import Session

STEP = "smb3-decrypt"
_ONE_STEP = (STEP,)
_BOTH_WAYS = (True, False)
_MAX_FRAMES_NAMED = 32


def decrypted_message(
    state: ConnectionState, session: Session, message: Message, from_client: bool | None
) -> Message | None:
    """Returns the message inside an SMB3 encryption transform, None if it stays encrypted. The session counts both.

    If a key decrypted the session's last message, only that key is tried.
    """
    session.encrypted += 1
    if not message.whole:
        _note_undecrypted(
            session, message, Decryption.BYTES_MISSING, message.reason or "the message is not whole in the capture"
        )
        return None
    proven = session.proven_keys
    if proven is not None and not _has_key(proven, from_client):
        proven = None
    candidates = [proven] if proven is not None else list(_candidates(state, session))
    data, start, stop = message.data, message.start, message.stop
    for keys in candidates:
        for way in _BOTH_WAYS if from_client is None else (from_client,):
            key = keys.client_to_server if way else keys.server_to_client
            if key is None or keys.cipher is None:
                continue
            plain = decrypt_transform(keys.cipher, key, data.data, start, stop)
            if plain is not None:
                session.cipher = CIPHERS[keys.cipher]
                if from_client is not None:
                    # Without a direction, what opens it may as well be the key of the other one in the wrong place.
                    session.proven_keys = keys
                session.decrypted += 1
                steps = (*data.steps, STEP) if data.steps else _ONE_STEP
                # It keeps its length, and so each byte its address.
                decrypted = TracedBytes(plain, data.source, data.start + start + TRANSFORM_LEN, steps)
                return Message(decrypted, 0, len(plain), len(plain))
    _note_undecrypted(session, message, *_why(state, session, candidates, proven))
    return None


def _candidates(state: ConnectionState, session: Session) -> Iterator[SessionKeys]:
    if session.keys is not None:
        yield session.keys
    dialect = state.dialect_number or DIALECT_300
    for given in state.shared.keyring.smb_keys_for(session.session_id):
        for cipher in _ciphers(state):
            derived = None
            if given.session_key is not None:
                derived = derive_keys(dialect, given.session_key, session.preauth_hash, cipher)
            if derived is not None:
                yield derived
            # Which column of a list of keys is whose is a matter of reading it ([MS-SMB2] 3.1.4.2 names them from both ends);
            # Wireshark tries both as well, and the tag of each message decides.
            by_direction = (given.client_to_server_key, given.server_to_client_key)
            if any(by_direction):
                for client_to_server, server_to_client in dict.fromkeys((by_direction, by_direction[::-1])):
                    yield SessionKeys(
                        cipher,
                        derived.signing_key if derived else None,
                        client_to_server or (derived.client_to_server if derived else None),
                        server_to_client or (derived.server_to_client if derived else None),
                    )


def _has_key(keys: SessionKeys, from_client: bool | None) -> bool:
    """Whether an SMB session has a key for encrypted messages of this direction; of any direction if it is None."""
    if from_client is None:
        return keys.client_to_server is not None or keys.server_to_client is not None
    return (keys.client_to_server if from_client else keys.server_to_client) is not None


def _ciphers(state: ConnectionState) -> tuple[int, ...]:
    if state.cipher is not None:
        return (state.cipher,)
    # The negotiation was not captured: the tag of the first message shows which of them it was.
    return AES_128_GCM, AES_128_CCM, AES_256_GCM, AES_256_CCM


def _why(
    state: ConnectionState, session: Session, tried: list[SessionKeys], proven: SessionKeys | None
) -> tuple[Decryption, str]:
    if proven is not None:
        return Decryption.BYTES_MISSING, "its authentication tag is wrong, though the session's key opened others"
    handshake = session.handshake
    given = state.shared.keyring.smb_keys_for(session.session_id)
    usable = any(keys.cipher is not None and (keys.client_to_server or keys.server_to_client) for keys in tried)
    if usable and (given or (handshake is not None and handshake.session_key is not None)):
        one_direction = " (a key was given for one direction only)" if session.proven_keys is not None else ""
        return Decryption.WRONG_KEY, f"the key given for this session does not open it{one_direction}"
    if (given and session.preauth_hash is None) or (handshake is not None and handshake.session_key is not None):
        # A session key alone does not lead to the keys of 3.1.1; the hash over its setup is part of them.
        return Decryption.BYTES_MISSING, "the negotiation or the session setup is not whole in the capture"
    if handshake is None:
        return Decryption.NO_HANDSHAKE, "the session setup is not in the capture"
    return handshake.decryption, handshake.reason or "no key"


def _note_undecrypted(session: Session, message: Message, decryption: Decryption, reason: str) -> None:
    undecrypted = session.undecrypted
    if undecrypted.count == 0 or decryption is not Decryption.BYTES_MISSING:
        undecrypted.decryption, undecrypted.reason = decryption, reason
    undecrypted.count += 1
    undecrypted.bytes += message.length
    if len(undecrypted.frames) < _MAX_FRAMES_NAMED:
        undecrypted.frames += message.frames[: _MAX_FRAMES_NAMED - len(undecrypted.frames)]


def report(session: Session, out: Emitter) -> None:
    """Emits one problem for all SMB messages of the session that stayed encrypted. It names what would decrypt them."""
    undecrypted = session.undecrypted
    if not undecrypted.count:
        return
    account = session.identity.account
    whose = f" of {account}" if account else ""
    many = "message" if session.encrypted == 1 else "messages"
    cipher = f", {session.cipher}" if session.cipher else ""
    text = (
        f"SMB session {session.session_id:#x}{whose}: {undecrypted.count} of {session.encrypted} encrypted {many} not decrypted "
        f"({undecrypted.bytes} bytes{cipher}): {undecrypted.reason}"
    )
    if undecrypted.decryption in (Decryption.NO_KEY, Decryption.WRONG_KEY):
        mechanism = session.identity.mechanism or ""
        what = "its service's keytab" if "krb5" in mechanism else "the user's password or NT hash"
        text += f"; {what}, or the SMB session key, would decrypt them"
    elif undecrypted.decryption is Decryption.NO_HANDSHAKE:
        text += "; only the session's encryption keys would decrypt them"
    out.append(Problem("sealed", "smb", tuple(sorted(set(undecrypted.frames))), text))
