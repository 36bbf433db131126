"""The records of SMB sessions and of logons (docs/output.md)."""

from __future__ import annotations

from msgspec import UNSET

from analyzer.core.error_code_names import nt_status_name
from analyzer.interfaces.call_contents.client_programs import ClientPrograms
from analyzer.results.analysis import CaptureFacts
from analyzer.results.connection import Logon, SmbSession
from analyzer.results.records.session_and_host import LogonRecord, SessionRecord
from analyzer.transport.rpc.rpc_names import bind_nak_reason, fault_name


def session_record(session: SmbSession, facts: CaptureFacts, programs: ClientPrograms) -> SessionRecord:
    identity, likeness = session.identity, programs.of_session(session)
    frames, files = facts.numbered(session.frames)
    return SessionRecord(
        session=session.number,
        session_id=f"{session.session_id:#018x}",
        client=session.client,
        server=session.server,
        dialect=session.dialect,
        client_guid=session.client_guid,
        server_guid=session.server_guid,
        cipher=session.cipher,
        signing=session.signing,
        mechanism=identity.mechanism,
        user=identity.account,
        user_source=identity.account_source,
        claimed_user=identity.claimed_otherwise,
        granted=identity.granted,
        anonymous=identity.is_anonymous,
        refused=session.refused,
        refused_name=nt_status_name(session.refused) if session.refused is not None else None,
        domain=identity.domain,
        workstation=identity.workstation,
        server_name=identity.server_name,
        server_domain=identity.server_domain,
        server_dns_name=identity.server_dns_name,
        server_dns_domain=identity.server_dns_domain,
        server_os_version=identity.os_version,
        client_os_version=identity.client_os_version,
        service=identity.service,
        realm=identity.realm,
        etype=identity.etype,
        kvno=identity.kvno,
        decryption=session.decryption.value,
        reason=session.reason,
        first_time_ns=session.first_time_ns,
        last_time_ns=session.last_time_ns,
        frames=frames,
        frame_files=files,
        encrypted_messages=session.encrypted_messages,
        decrypted_messages=session.decrypted_messages,
        signed_messages=session.signed_messages,
        verified_messages=session.verified_messages,
        trees=session.trees,
        pipes=session.pipes,
        later_users=tuple(one.account for one in session.later if one.account is not None),
        program=likeness.name if likeness is not None else None,
        program_marks=likeness.alike if likeness is not None else (),
        altered=session.wrong_signatures > 0 or UNSET,
    )


def logon_record(logon: Logon, facts: CaptureFacts) -> LogonRecord:
    """Returns the record of an SMB or RPC logon."""
    identity, refused = logon.identity, logon.refused
    frames, files = facts.numbered(logon.frames)
    name = None
    if refused is not None:
        name = refusal_name(logon, refused)
    return LogonRecord(
        logon=logon.key,
        by=logon.by,
        session=logon.session,
        channel=logon.channel,
        client=logon.client,
        server=logon.server,
        outcome=logon.outcome,
        user=identity.account,
        user_source=identity.account_source,
        claimed_user=identity.claimed_otherwise,
        mechanism=identity.mechanism,
        workstation=identity.workstation,
        refused=refused,
        refused_name=name,
        verified="key" if logon.opened_by is not None else "answer" if logon.is_granted else "none",
        decrypted_by=logon.opened_by,
        first_time_ns=logon.first_time_ns,
        until_time_ns=logon.until_ns,
        frames=frames,
        frame_files=files,
        refused_by=logon.refused_by,
        seen=logon.seen,
    )


def refusal_name(logon: Logon, status: int) -> str | None:
    """Returns the name of the status with which the server refused a logon, for its record."""
    if logon.by == "smb":
        return nt_status_name(status)
    return bind_nak_reason(status) if logon.refused_by == "bind_nak" else fault_name(status)
