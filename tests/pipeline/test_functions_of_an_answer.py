"""How many functions one sealed answer goes through, so that no second way grows beside the one there is."""

from tools.count_calls import calls_of_answer, read_up_to


def test_a_sealed_answer_becomes_a_row_in_190_calls_of_functions() -> None:
    counts = calls_of_answer(read_up_to)
    in_smb = sum(number for (file, _), number in counts.items() if file.startswith("transport/smb/"))
    assert 0 < in_smb <= 30
    assert sum(counts.values()) <= 190
