"""A dataset has the rows of one analysis of all its files, whatever files these are, and however often it has grown."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from tests.build.capture import NANO, T0, pcap
from tests.build.smb import Talk, pdu
from tests.collect.sets import (
    CAPTURES,
    Given,
    Here,
    collected,
    frames_of,
    keyring_of,
    logon_by_rpc,
    moved,
    of_dataset,
    on_the_wire,
    put,
    readdressed,
    rotated,
    unlike,
)

pytestmark = pytest.mark.needs("distributed")
CALL = pdu(0, 1, bytes(100))
NAMES = sorted(path.name for path in CAPTURES.iterdir() if ".pcap" in path.name)
CLEAR = "v1_samba_impacket_smb311_noauth.pcap"
POLLS = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"


# What fails is as large as a capture, and not worth being made smaller.
@settings(max_examples=6, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.sampled_from(NAMES), st.integers(1, 12), st.integers(1, 2), st.integers(0, 1 << 32))
def test_rotated_files_of_two_sensors_give_what_one_run_gives(name: str, files: int, sensors: int, seed: int) -> None:
    keyring = keyring_of(name)
    with TemporaryDirectory() as temporary:
        directory = Path(temporary)
        rotated(name, directory / "in", files, seed, sensors)
        collected(directory / "in", directory / "out", keyring, executor=Here(seed))
        assert not unlike(directory, keyring, alone=True)


def several(directory: Path) -> Keyring:
    """Three clients of one server and one of another, at the same time; the third begins to be captured when it polls, so that what
    the others were told is all that is known of names."""
    _, clear = frames_of(CAPTURES / CLEAR)
    _, sealed = frames_of(CAPTURES / POLLS)
    late = clear[len(clear) // 2 :]
    begin = clear[0][0]
    talks: list[list[Given]] = [
        readdressed(clear, "10.0.0.1", "10.0.9.9"),
        readdressed(moved(sealed, begin - sealed[0][0]), "10.0.0.2", "10.0.9.9"),
        readdressed(moved(late, begin - late[0][0] + 7), "10.0.0.3", "10.0.9.9"),
        readdressed(moved(late, 11), "10.0.0.1", "10.0.9.8"),
    ]
    rotated(sorted(frame for talk in talks for frame in talk), directory, 9, 7)
    return keyring_of(POLLS)


def test_conversations_of_one_server_know_the_names_it_reported_to_any(tmp_path: Path) -> None:
    keyring = several(tmp_path / "in")
    done = collected(tmp_path / "in", tmp_path / "out", keyring)
    # Three clients of one server are one conversation, whose pairs of hosts were looked at alone before.
    assert (done.manifest.conversations, done.analysed) == (2, 5)
    tables, _ = of_dataset(tmp_path / "out")
    named = tables["samples"].filter(server_ip="10.0.9.9")
    assert named["call"].n_unique() > 2
    assert named["counter_name"].null_count() == 0
    assert not unlike(tmp_path, keyring, alone=False)
    for table, key in (("calls", "number"), ("sessions", "session"), ("handles", "handle")):
        assert tables[table][key].is_unique().all()


def test_frames_of_others_show_that_the_clock_was_set_back_within_a_call(tmp_path: Path) -> None:
    """They are no part of the conversation, and its call has no latency all the same."""
    link_type, frames = frames_of(CAPTURES / CLEAR)
    answer = analyze([CAPTURES / CLEAR]).calls[2].response
    others = readdressed(frames[:1], "10.0.0.7", "10.0.0.8")
    at = answer.first_frame - 1
    talk = [*frames[:at], *moved(others, -7200 * 10**9), *frames[at:]]
    put(tmp_path / "in" / "0.pcap", talk, link_type)
    collected(tmp_path / "in", tmp_path / "out", Keyring())
    assert not unlike(tmp_path, Keyring(), alone=False)
    calls = of_dataset(tmp_path / "out")[0]["calls"]
    without = analyze([tmp_path / "in" / "0.pcap"]).calls
    assert calls["latency"].null_count() == [call.latency_ns for call in without].count(None) > 0
    assert without[2].latency_ns is None


def test_a_dataset_grows_to_what_it_would_have_been(tmp_path: Path) -> None:
    keyring = several(tmp_path / "all")
    (tmp_path / "in").mkdir()
    files = sorted((tmp_path / "all").iterdir())
    for first, number in ((0, 4), (4, 9)):
        for path in files[first:number]:
            (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
        executor = Here()
        done = collected(tmp_path / "in", tmp_path / "out", keyring, executor=executor)
        assert done.read == len([stage for stage, _ in executor.ran if stage == "cut"]) == number - first
        skipped = [(entry.url, entry.reason) for entry in done.manifest.skipped]
        before = sorted(str(tmp_path / "in" / path.name) for path in files[:first])
        assert sorted(skipped) == [(url, "it was read by an earlier run") for url in before]
        assert not unlike(tmp_path, keyring, alone=False)
    executor = Here()
    assert not collected(tmp_path / "in", tmp_path / "out", keyring, executor=executor).read
    assert executor.ran == []


@pytest.mark.parametrize("late", [False, True])
def test_a_channel_between_other_addresses_is_with_the_session_that_it_is_bound_to(tmp_path: Path, late: bool) -> None:
    """[MS-SMB2] section 3.3.5.5: SMB2_SESSION_FLAG_BINDING; also where the session comes with files of a later run."""
    first = Talk().begin().tree().open().transceive(CALL, CALL)
    second = Talk().begin(binding=True).transceive(CALL, CALL).close()
    other = Talk(session=77).begin().tree().open().transceive(CALL, CALL)
    hosts = {"first": ("10.0.0.2", "10.0.0.1"), "second": ("10.0.1.2", "10.0.1.1"), "other": ("10.0.2.2", "10.0.2.1")}
    (tmp_path / "in").mkdir()
    written = {
        name: pcap(on_the_wire(talk.sent, *hosts[name], T0 + 50_000_000 * at), magic=NANO)
        for at, (name, talk) in enumerate((("first", first), ("second", second), ("other", other)))
    }
    for name in ("second", "other", "first"):
        (tmp_path / "in" / f"{name}.pcap").write_bytes(written[name])
        if late:
            done = collected(tmp_path / "in", tmp_path / "out", Keyring())
    if not late:
        done = collected(tmp_path / "in", tmp_path / "out", Keyring())
    sessions = of_dataset(tmp_path / "out")[0]["sessions"]
    assert (done.manifest.conversations, sessions.height) == (2, 2)
    assert not unlike(tmp_path, Keyring(), alone=False)


def test_a_logon_over_tcp_is_there_without_a_call(tmp_path: Path) -> None:
    """It is all that the conversation has: no SMB session, no call and no problem."""
    put(tmp_path / "in" / "0.pcap", on_the_wire(logon_by_rpc(), "10.0.0.2", "10.0.0.1", T0, port=49152))
    collected(tmp_path / "in", tmp_path / "out", Keyring())
    tables = of_dataset(tmp_path / "out")[0]
    assert [tables[name].height for name in ("calls", "sessions", "problems", "logons")] == [0, 0, 0, 1]
    assert not unlike(tmp_path, Keyring(), alone=False)


def test_a_flow_on_another_port_goes_on_in_files_that_do_not_show_what_it_is(tmp_path: Path) -> None:
    name = "pcq_impacketsmb_impacket_smb2002_ntlm_privacy_port4451.pcap"
    _, frames = frames_of(CAPTURES / name)
    # Each segment in two halves that no first bytes begin: the second file of each pair shows nothing of its own.
    for number, (start, stop) in enumerate(((0, 20), (20, 21), (21, len(frames)))):
        put(tmp_path / "in" / f"{number}.pcap", frames[start:stop])
    executor = Here()
    collected(tmp_path / "in", tmp_path / "out", keyring_of(name), executor=executor)
    assert not unlike(tmp_path, keyring_of(name), alone=True)
