"""What other families' cohorts teach a search: the product's own warm start, from the statistics of their pools."""

from __future__ import annotations

from pathlib import Path

from autoprog.metalearning import warm_start
from autoprog.metalearning.similarity import WeightForm
from autoprog.optimizer import OptimizerOptions, Start
from benchmarks.optimizer.problem import Problem
from training.prior.cohorts import family_of
from training.prior.learning import others_of
from training.prior.pools import read


def learnt(cohort: str, folder: Path, problem: Problem, form: WeightForm = "softmin") -> Start:
    """Learn from the cohorts of the other families.

    Parameters
    ----------
    cohort : str
        Of the search; nothing of its own family is used.
    folder : Path
        Of the pools.
    problem : Problem
        The search's space.
    form : {"softmin", "printed"}
        How cohorts weigh by their distances.

    Returns
    -------
    Start
        For this cohort.

    Raises
    ------
    ValueError
        If no other family has a pool of scores.
    """
    if not (others := others_of(cohort, folder)):
        msg = f"no family but {family_of(cohort)} has a pool: nothing can be learnt without the cohort's own"
        raise ValueError(msg)
    return warm_start(
        read(cohort, folder).meta_features,
        others,
        problem.kinds,
        mode="classification",
        metric="auc_roc",
        agnostic=OptimizerOptions(),
        form=form,
    )
