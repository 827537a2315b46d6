"""`shoal.testing.check`: kernels of several ranks, checked from a test."""

from pathlib import Path

import pytest

import shoal
import shoal.language as sl
import shoal.testing

CORPUS = Path(__file__).parents[2] / "tests" / "corpus"


@shoal.jit
def count(total, ATOMIC: sl.constexpr):
    if ATOMIC:
        sl.atomic_add(total, 1, sem="relaxed", scope="gpu")
    else:
        sl.store(total, sl.load(total) + 1)


@shoal.harness
def programs_count(world, atomic=True):
    count[(2,)](world.symm(1, "int32"), ATOMIC=atomic)


def test_a_harness_of_a_test_is_clean():
    answer = shoal.testing.check(programs_count, ranks=[1, 2], schedules=20)
    assert answer["clean"]


def test_a_race_is_an_assertion():
    with pytest.raises(AssertionError, match="data race"):
        shoal.testing.check(programs_count, ranks=[1], schedules=20, params={"atomic": False})


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is in a checkout only")
def test_files_are_checked_by_name():
    with pytest.raises(AssertionError, match="deadlock"):
        shoal.testing.check(str(CORPUS / "fail" / "threshold_for_eight.py"), ranks=[2], schedules=20)
    assert shoal.testing.check(str(CORPUS / "pass" / "threshold_for_eight.py"), ranks=[2], schedules=20)["clean"]


def test_what_cannot_be_checked_says_so():
    with pytest.raises(ValueError, match="no kernel of the library"):
        shoal.testing.check("nonsense")


def test_a_finding_tells_the_smallest_case_and_its_token():
    with pytest.raises(AssertionError, match=r"--replay n1\.l1\+atomic=false:"):
        shoal.testing.check(programs_count, ranks=[3], schedules=20, params={"atomic": False})


def test_a_token_repeats_a_run():
    with pytest.raises(AssertionError, match="the one schedule of"):
        shoal.testing.check(programs_count, replay="n1.l1+atomic=false:rr")
    assert shoal.testing.check(programs_count, replay="n1.l1+atomic=true:rr")["clean"]


def test_mistakes_of_the_caller_are_no_findings():
    with pytest.raises(ValueError, match="no device is known as `h9000`"):
        shoal.testing.check(programs_count, device="h9000")
    with pytest.raises(ValueError, match="has no parameter `size`"):
        shoal.testing.check(programs_count, params={"size": 3})
