"""The race refuses what cannot be compared, and takes medians of samples in turn."""

import numpy as np
import pytest

from tensorbuf.bench.contest import OURS, Contender, contender, inline
from tensorbuf.bench.race import DisagreementError, check, race


def test_equal_answers_pass():
    out = np.empty(3)
    check("job", [contender(OURS, "", lambda: np.ones(3)), contender("peer", "", lambda: out.fill(1), out)])


def test_an_answer_that_was_there_before_does_not_count():
    out = np.ones(3)
    with pytest.raises(DisagreementError, match="job: peer"):
        check("job", [contender(OURS, "", lambda: np.ones(3)), contender("peer", "", lambda: None, out)])


@pytest.mark.parametrize("answer", [np.zeros(3), np.ones(4), np.ones(3, np.float32)])
def test_another_value_size_or_type_is_refused(answer):
    with pytest.raises(DisagreementError):
        check("job", [contender(OURS, "", lambda: np.ones(3)), contender("peer", "", lambda: answer)])


def test_a_rounding_is_allowed_where_it_is_said():
    ours = contender(OURS, "", lambda: np.array([0, 255], np.uint8))
    check("job", [ours, contender("peer", "", lambda: np.array([1, 255], np.uint8), within=1)])
    with pytest.raises(DisagreementError):
        check("job", [ours, contender("peer", "", lambda: np.array([2, 255], np.uint8), within=1)])


def test_the_shape_of_an_answer_is_its_own():
    check("job", [contender(OURS, "", lambda: np.ones((3, 2))), contender("peer", "", lambda: np.ones((1, 3, 2)))])


def test_medians_of_samples_in_turn_and_warm():
    turns = []
    # The first two find the number of runs; of each later pair the first warms the caches and does not count.
    times = {"a": iter([1, 1, 9, 3, 9, 1, 9, 4]), "b": iter([1, 1, 9, 5, 9, 7, 9, 6])}

    def entrant(name):
        def time(n):
            assert n == 1
            turns.append(name)
            return next(times[name])

        return Contender(name, "", time, None)

    assert race([entrant("a"), entrant("b")], repeats=3) == [3, 6]
    assert "".join(turns[4:]) == "aabb" * 3


def test_a_short_run_is_repeated_within_a_sample():
    runs = []

    def time(n):
        runs.append(n)
        return n * 1e-6

    assert race([Contender(OURS, "", time, None)], repeats=1) == [pytest.approx(1e-6)]
    assert runs[-1] >= 1000


def test_an_inline_statement_is_timed_and_answers():
    fast = inline(OURS, "x + 1", {"x": 2})
    assert fast.answer() == 3
    assert fast.time(10) > 0
