"""Marks of programs: learnt from captures of the programs themselves, and recognized in other captures of them."""

from pathlib import Path

import pytest

from analyzer.interfaces.call_contents.client_programs import MEANINGS, known_programs, learnt, recognized
from analyzer.pipeline.run import InSessions, analyze
from analyzer.results.connection import ClientMarks
from tests.corpus import CORPUS
from tests.programs import MAKERS, ROOT, TABLE, marks_of, recorded, table, written
from tests.rules_document import PROGRAMS, programs_document
from tests.truth import CAPTURES

WITH_PUBLIC = bool(CORPUS.name)
ALONE = {
    "gomsrpc_connect",
    "v1_samba_sambapy_smb311gcm256_krb5aes256_seal",
    "samba_smbclient_smb21",
    "samba_smbclient_smb30",
    "multichannel_smb300_signed",
    "nmap_smb_protocols",
}


def test_each_capture_is_recognized_by_the_marks_of_the_others() -> None:
    """No connection is said to be of another program than the one that made it. Captures of `ALONE` are the only ones that show
    what they show: a dialect, a cipher or a level that somebody chose, or a single mark."""
    captures = recorded(with_public=WITH_PUBLIC)
    silent: set[str] = set()
    for one in captures:
        programs = table((other for other in captures if other.path != one.path), with_public=WITH_PUBLIC)
        for marks in one.connections:
            likeness = recognized(marks, programs)
            if likeness is not None:
                assert likeness.names == (one.program,), (one.path, likeness)
            elif one.path.is_relative_to(ROOT):
                silent.add(one.path.stem)
    assert silent == ALONE


def test_the_table_names_no_wrong_program_in_any_capture_whose_maker_is_known() -> None:
    for one in recorded(with_public=WITH_PUBLIC):
        for marks in one.connections:
            likeness = recognized(marks, known_programs())
            assert likeness is None or likeness.names == (one.program,), (one.path, likeness)


def test_the_table_is_what_the_captures_show() -> None:
    assert TABLE.read_bytes() == written(table(recorded(with_public=WITH_PUBLIC), with_public=WITH_PUBLIC)), (
        "PCQ_CORPUS=... python -m tests.programs writes it anew"
    )
    assert {name.replace("rpc.ntlm", "smb.ntlm") for one in known_programs() for name in one.marks} <= set(MEANINGS)


def test_the_page_is_what_the_table_says() -> None:
    assert PROGRAMS.read_text(encoding="utf-8") == programs_document(), "python -m tests.rules_document writes it anew"


ALL = {"smb2.dialects": "0311", "smb2.header": "x", "smb2.contexts": "1, 2", "smb.ntlm_flags": "0x1"}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({}, ("first", "second")),
        ({"smb2.client_guid": "letters"}, ("first",)),
        ({"smb2.client_guid": "version 4"}, ("second",)),
        ({"smb2.client_guid": "zeros"}, ()),
        ({"smb2.dialects": "0202"}, ()),
        ({"smb2.security_mode": "0x3"}, ("first", "second")),
        ({"rpc.a": "1", "rpc.b": "1", "rpc.c": "1"}, ()),
    ],
    ids=["both", "one", "the-other", "contradicted", "unknown", "a-setting", "too-small-a-share"],
)
def test_programs_with_the_same_marks_are_all_named_and_unknown_ones_not_at_all(
    changed: dict[str, str], names: tuple[str, ...]
) -> None:
    known = [
        learnt("first", [{**ALL, "smb2.client_guid": "letters", "smb2.security_mode": "0x1"}], ()),
        learnt("second", [{**ALL, "smb2.client_guid": "version 4", "smb2.security_mode": "0x1"}], ()),
    ]
    found = recognized({**ALL, **changed}, known)
    assert (found.names if found is not None else ()) == names


def test_marks_that_many_programs_have_name_none() -> None:
    plain = {
        "rpc.fragments": "4280 4280",
        "rpc.bind": "x",
        "rpc.contexts": "0:ndr",
        "rpc.bind_call": "1",
        "rpc.first_call": "+0",
    }
    assert recognized(plain, [learnt("only", [plain], ())]) is None


@pytest.mark.parametrize(("values", "known"), [("aabb", ("a", "b")), ("aab", None), ("aabbc", None), ("a", ("a",))])
def test_the_values_of_a_mark_come_twice_on_average_or_are_one(values: str, known: tuple[str, ...] | None) -> None:
    found = learnt("any", [{"rpc.auth_context": value} for value in values], ())
    assert found.marks.get("rpc.auth_context") == known


def test_what_differs_on_every_connection_is_no_mark() -> None:
    connections = [{"rpc.auth_context": str(number), "smb2.client_guid": "bytes"} for number in range(3)]
    assert learnt("random", connections, ()).marks == {}


def test_no_public_capture_is_made_by_a_program_with_few_marks() -> None:
    """Synthetic captures, whose makers wrote their bytes with programs of their own, are like none."""
    for name in ("arkime-arkime/tests__pcap__dcerpc_synthetic.pcap", "arkime-arkime/tests__pcap__ntlm_synthetic.pcap"):
        if WITH_PUBLIC:
            assert not any(recognized(marks, known_programs()) for _, marks in marks_of(CORPUS / name))


def test_the_order_of_calls_counts_where_a_program_is_known_to_call_so_and_is_no_mark_otherwise() -> None:
    known = [learnt("only", [{**ALL, "rpc.calls": order} for order in ("a: 1 2 3", "a: 1 2 3", "b: 4 5 6")], ())]
    assert known[0].marks["rpc.calls"] == ("a: 1 2 3",)
    found = {order: recognized({**ALL, "rpc.calls": order}, known) for order in ("a: 1 2 3", "b: 4 5 6")}
    assert [(one.alike[-1], len(one.alike), one.marks) for one in found.values() if one is not None] == [
        ("rpc.calls", 5, 5),
        ("smb.ntlm_flags", 4, 4),
    ]


def _paths() -> list[Path]:
    """The first capture of each pattern of `recorded`, whose captures are not read to name the tests."""
    own = {min(ROOT.glob(pattern)) for maker in MAKERS for pattern in maker.own}
    public = {min(CORPUS.glob(pattern)) for maker in MAKERS for pattern, _ in maker.public if WITH_PUBLIC}
    return sorted(own | public)


def _read(path: Path, in_sessions: InSessions) -> set[ClientMarks]:
    return set(analyze([path], pdus=False, in_sessions=in_sessions).marks)


@pytest.mark.parametrize("path", _paths(), ids=lambda one: one.name)
def test_who_asks_for_sessions_alone_sees_the_marks_of_rpc_in_them_too(path: Path) -> None:
    assert _read(path, "none") == _read(path, "all") == _read(path, "naming")


def test_a_request_that_came_from_the_server_counts_for_no_client(tmp_path: Path) -> None:
    """One wrong bit makes a request of a response."""
    path = CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"
    data = path.read_bytes()
    at = data.index(bytes((5, 0, 2, 3, 0x10)))
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(data[: at + 2] + b"\0" + data[at + 3 :])
    assert _read(damaged, "none") == _read(damaged, "all") == _read(path, "all")
