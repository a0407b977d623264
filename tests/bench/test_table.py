"""What is met, missed and not measured, and how the table and the document say it."""

import json

import pytest

from tensorbuf.bench.contest import FULL_HD, OURS, Contender, Job, Target, at_least, at_most, seconds
from tensorbuf.bench.report import as_document, write_document, write_table
from tensorbuf.bench.table import MET, MISSED, NOT_MEASURED, judge, measure, verdict


def entrant(peer, seconds):
    """Somebody whose every run takes that long."""
    return Contender(peer, f"way of {peer}", lambda n: n * seconds, lambda: 1)


def result(targets, **times):
    """Measured with tensorbuf at a second."""
    job = Job("1", "job", FULL_HD, lambda _: [entrant(OURS, 1.0), *(entrant(*each) for each in times.items())], targets)
    return next(measure([job], repeats=1))


@pytest.mark.parametrize(
    ("targets", "verdict"),
    [
        (at_least(numpy=2), MET),
        (at_least(numpy=2.1), MISSED),
        (at_most(numpy=0.5), MET),
        (at_most(numpy=0.4), MISSED),
        (seconds(1), MET),
        (seconds(0.9), MISSED),
        (at_least(torch=2), NOT_MEASURED),
        (at_least(numpy=2, torch=2), NOT_MEASURED),
        (at_least(numpy=3, torch=2), MISSED),
        ((), ""),
    ],
)
def test_verdicts(targets, verdict):
    assert result(targets, numpy=2.0).verdict == verdict


def test_the_fastest_way_of_a_peer_counts():
    ways = [entrant(OURS, 1.0), entrant("numpy", 5.0), entrant("numpy", 2.0), entrant("numpy", 3.0)]
    (line,) = next(measure([Job("1", "job", (8,), lambda _: ways, at_least(numpy=2))], 1)).lines
    assert (line.value, line.ratio, line.verdict) == (2.0, 2.0, MET)


def test_every_peer_has_a_line_also_where_nothing_is_asked_of_it():
    lines = result(at_least(numpy=2), numpy=2.0, torch=4.0, memcpy=4.0).lines
    assert [(line.peer, line.ratio, line.target, line.verdict) for line in lines] == [
        ("numpy", 2.0, ">= 2", MET),
        ("torch", 4.0, "", ""),
        ("memcpy", 0.25, "", ""),
    ]


def test_a_limit_on_bytes():
    limit = Target(None, "<=", 1_000_000)
    assert judge(limit, 999_999, "B").verdict == MET
    assert judge(limit, 1_000_001, "B").verdict == MISSED
    assert judge(limit, None, "B").verdict == NOT_MEASURED
    assert judge(limit, None, "B").target == "<= 1 MB"


def test_the_worst_verdict():
    assert verdict([MET, NOT_MEASURED, MISSED]) == MISSED
    assert verdict([MET, NOT_MEASURED]) == NOT_MEASURED
    assert verdict([MET, ""]) == MET
    assert verdict([]) == ""


def test_the_table_names_the_machine_and_every_peer():
    lines = []
    rows = [result(at_least(numpy=2, torch=2), numpy=2.0), result(at_least(numpy=3), numpy=2.0)]
    assert write_table({"processor": "a processor"}, rows, lines.append) == MISSED
    assert lines[0] == "processor   a processor"
    assert " ".join(lines[3].split()) == "1 job 1080p 1 s numpy 2 s 2.00 >= 2 met way of numpy"
    assert " ".join(lines[4].split()) == "torch - >= 2 not measured"
    assert lines[-1] == "0 met, 1 missed, 1 not measured"


def test_the_document():
    lines = []
    rows = [result(at_least(numpy=2), numpy=2.0)]
    assert write_document({"processor": "a processor"}, rows, lines.append) == MET
    document = json.loads("\n".join(lines))
    assert document == json.loads(json.dumps(as_document({"processor": "a processor"}, rows)))
    assert document["verdict"] == MET
    assert document["machine"] == {"processor": "a processor"}
    (row,) = document["rows"]
    assert (row["row"], row["size"], row["ours"], row["unit"], row["verdict"]) == ("1", "1080p", 1.0, "s", MET)
    assert row["lines"][0]["ratio"] == 2.0
