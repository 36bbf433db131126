"""A dataset that was made without keys, or with wrong ones, and is given others later."""

from pathlib import Path

import pytest
from msgspec import structs

from analyzer.auth.keyring import Keyring
from analyzer.collect.analyse_stage import may_open, names_given
from analyzer.collect.dataset_manifest import Facts, read_facts, read_manifest
from analyzer.collect.stage_tasks_and_facts import ConversationFacts
from analyzer.core.output.file_store import Store
from tests.collect.sets import CAPTURES, Here, collected, frames_of, keyring_of, of_dataset, readdressed, unlike
from tests.collect.sets import put as written
from tests.collect.test_collect_run import run_of

NAMES = (
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap",
    "pcq_smbd_scapy_impacket_krb5aes256_spnego_privacy.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
)
WRONG = Keyring.build(passwords=[("perfmon", "wrong")])


def put(directory: Path, *names: str) -> Keyring:
    directory.mkdir()
    keyring = Keyring()
    for name in names:
        (directory / name).write_bytes((CAPTURES / name).read_bytes())
        keyring = keyring.merged(keyring_of(name))
    return keyring


def facts_of(dataset: Path) -> list[ConversationFacts]:
    store = Store(str(dataset))
    manifest = read_manifest(store)
    assert manifest is not None
    return read_facts(store, manifest).conversations


@pytest.mark.needs("distributed")
@pytest.mark.parametrize(
    ("name", "first"),
    [(NAMES[1], Keyring.build(passwords=["wrong"])), (NAMES[2], WRONG)],
    ids=["wrong for all, Kerberos", "wrong"],
)
def test_keys_that_come_later_open_what_they_would_have_opened(name: str, first: Keyring, tmp_path: Path) -> None:
    keyring = put(tmp_path / "in", name)
    assert collected(tmp_path / "in", tmp_path / "out", first).sealed == 1
    executor = Here()
    done = collected(tmp_path / "in", tmp_path / "out", keyring, executor=executor)
    assert (done.read, done.analysed, done.rendered, done.sealed) == (0, 1, 1, 0)
    assert [stage for stage, _ in executor.ran] == ["analyse", "render"]
    assert not unlike(tmp_path, keyring, alone=False)
    # All is open: neither these keys nor none are a reason to read anything again.
    for again in (keyring, Keyring(), WRONG):
        executor = Here()
        collected(tmp_path / "in", tmp_path / "out", again, executor=executor)
        assert executor.ran == []


@pytest.mark.needs("distributed")
def test_keys_that_open_nothing_write_no_row_again(tmp_path: Path) -> None:
    put(tmp_path / "in", NAMES[0])
    collected(tmp_path / "in", tmp_path / "out", Keyring())
    before, (facts,) = of_dataset(tmp_path / "out")[0], facts_of(tmp_path / "out")
    one, other = (Keyring.build(passwords=[("nobody", text)]) for text in "xy")
    for keyring, analyses in ((WRONG, 1), (one, 1), (other, 0)):
        done = collected(tmp_path / "in", tmp_path / "out", keyring)
        assert (done.analysed, done.rendered, done.sealed) == (analyses, 0, 1)
    after = of_dataset(tmp_path / "out")[0]
    assert all(after[name].equals(table) for name, table in before.items())
    assert structs.replace(facts_of(tmp_path / "out")[0], tried="", seconds=0) == structs.replace(
        facts, tried="", seconds=0
    )


def facts(readable: int, *lacking: str, failure: str | None = None) -> ConversationFacts:
    return ConversationFacts(7, (("a", "b"),), [0], readable=readable, lacking=[*lacking], failure=failure, tried="now")


@pytest.mark.parametrize(
    ("had", "result", "is_new", "said"),
    [
        (facts(0, "A"), facts(8), True, None),
        (facts(4, "A", "B"), facts(8, "B"), True, None),
        (facts(4, "A"), facts(8, "A"), True, None),
        (facts(4, "A"), facts(4, "A"), False, None),
        (facts(4, "A"), facts(0, "A", "B"), False, None),
        # The keys open what was sealed, and not what was open.
        (facts(4, "B"), facts(8, "A"), False, "conversation 7 stays as it was"),
        (facts(4, "B"), facts(0, "B", failure="it failed"), False, "it failed"),
    ],
)
def test_what_was_opened_before_stays_open(
    had: ConversationFacts, result: ConversationFacts, is_new: bool, said: str | None
) -> None:
    run = run_of(facts=Facts())
    kept = run._better(structs.replace(had, tried="before"), result)
    assert kept == (result if is_new else had)
    assert [problem.text.startswith(said) for problem in run._problems if said] == ([True] if said else [])


@pytest.mark.parametrize(
    ("lacking", "keyring", "expected"),
    [
        (["LAB\\perfmon"], Keyring.build(passwords=[("perfmon", "x")]), True),
        (["LAB\\perfmon"], Keyring.build(passwords=["x"]), True),
        (["LAB\\perfmon"], Keyring.build(passwords=[("other", "x")]), False),
        ([""], Keyring.build(passwords=[("other", "x")]), False),
        (["krb5"], Keyring.build(passwords=["x"]), False),
        (["0x1d"], Keyring.build(smb_session_keys=["1d00000000000000," + 32 * "0" + ',"",""']), True),
        (["0x1e"], Keyring.build(smb_session_keys=["1d00000000000000," + 32 * "0" + ',"",""']), False),
        ([], Keyring.build(passwords=["x"]), False),
    ],
)
def test_a_key_by_the_name_of_what_is_sealed_is_tried_again(
    lacking: list[str], keyring: Keyring, expected: bool
) -> None:
    assert may_open(lacking, keyring) is expected


def test_names_that_keys_were_given_for_are_told_apart_without_their_keys() -> None:
    one, other = (Keyring.build(passwords=[("perfmon", text)]) for text in ("one", "other"))
    assert names_given(one, ()) == names_given(other, ())
    assert len({names_given(one, ()), names_given(Keyring(), ()), names_given(one, ["x"])}) == 3


@pytest.mark.needs("distributed")
def test_a_conversation_without_calls_is_of_the_server_of_its_sessions(tmp_path: Path) -> None:
    """SMB encryption that no key opens: of the two hosts, the first by address is the server."""
    _, frames = frames_of(CAPTURES / "pcq_smbd_scapy_impacket_smb311ccm_ntlm_privacy.pcap")
    written(tmp_path / "in" / "a.pcap", readdressed(frames, "10.0.0.9", "10.0.0.1"))
    collected(tmp_path / "in", tmp_path / "out", Keyring())
    (one,) = facts_of(tmp_path / "out")
    assert (one.calls, one.pairs, one.server) == (0, (("10.0.0.1", "10.0.0.9"),), "10.0.0.1")
