"""The product agrees with a judge that shares nothing with it, on generated recordings.

INDEPENDENT_RECORDINGS says how many fresh ones the long test tries, INDEPENDENT_SPARK how many of
each kind go through Spark.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import SystemRandom

import pytest

from tests.effort import FAST
from tests.independent.judge import WORST_FIRST
from tests.independent.trying import tried

FIXED = range(100 if FAST else 500)
BY_HAND = int(os.environ.get("INDEPENDENT_RECORDINGS", "5000"))
WITH_SPARK = int(os.environ.get("INDEPENDENT_SPARK", "50"))
VERDICTS = (*WORST_FIRST, "consistent")
MOST_SHOWN = 10


def fresh() -> int:
    """Return a seed that was not tried before, and print it so that it can be tried again."""
    seed = SystemRandom().randrange(10**6, 10**12)
    print(f"the first fresh seed is {seed}")
    return seed


def agreed(seeds: Iterable[int], folder: Path, spark=None, *, as_parquet=False) -> Counter[str]:
    """Try every seed, and return how often each verdict was found."""
    verdicts: Counter[str] = Counter()
    differing = []
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        trial = tried(seed, own, spark, as_parquet=as_parquet)
        differing += [f"seed {seed}: {sentence}" for sentence in trial.differing]
        if trial.judged is None:
            verdicts["refused"] += 1
        else:
            verdicts.update(judgement.verdict for judgement in trial.judged.values())
    assert not differing, "\n".join([f"{len(differing)} in all", *differing[:MOST_SHOWN]])
    return verdicts


def test_an_independent_judge_agrees_with_the_reference(tmp_path):
    verdicts = agreed([*FIXED, fresh()], tmp_path)
    assert {*VERDICTS, "refused"} == verdicts.keys()


def test_the_judge_imports_nothing_of_the_product():
    for name in ("judge", "log", "recordings", "system"):
        lines = (Path(__file__).parent / f"{name}.py").read_text().splitlines()
        imported = {line.split()[1].split(".")[0] for line in lines if line.startswith("from ")}
        assert imported - set(sys.stdlib_module_names) <= {"tests"}


@pytest.mark.long
def test_an_independent_judge_agrees_on_thousands_of_recordings(tmp_path):
    first = fresh()
    verdicts = agreed(range(first, first + BY_HAND), tmp_path)
    print(f"{BY_HAND} recordings: {dict(verdicts.most_common())}")
    assert min(verdicts[name] for name in VERDICTS) >= BY_HAND / 100


@pytest.mark.long
@pytest.mark.parametrize("as_parquet", [False, True], ids=["lines", "parts"])
def test_an_independent_judge_agrees_with_spark(spark, tmp_path, as_parquet):
    first = fresh()
    agreed(range(first, first + WITH_SPARK), tmp_path, spark, as_parquet=as_parquet)
