"""Run by `make sanitize` alone, which asserts that each of these is red. (The name keeps them out of the suite.)"""

import tensorbuf_planted_faults as faults


def test_a_cast_out_of_range():
    faults.cast_out_of_range(3e9)


def test_a_read_past_the_end():
    faults.read_past_the_end(100)
