"""Whether the rules find what was planted, tell the model's strata as a tree does, and come in time.

    python -m benchmarks.interpreter [--part planted|fidelity|large] [--seeds 100]

planted: seeds 0 to 99 of `planted_rules`; bars: 90 % of the planted rules recovered, 10 % of the rules of the upper
stratum false; those of the lower one are not counted.
fidelity: kappa of the strata by rules and by the model, on the patients held out, against a decision tree with as many
leaves as there are rules, and one for the default, grown on the same mined patients; ten splits of each cohort and
model; bar: .03 below the tree. Every condition of a rule of high or low risk is looked up in
`tests/data/risk_directions.csv`.
large: 70,000 patients with 50 features; bars: 20 s of a core, 2 GiB.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import cohen_kappa_score
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.interpreter import explain, make_strata, stratum_indices
from autoprog.interpreter.selection import hold_out
from benchmarks.interpreter.cohorts import COHORTS, MODELS, agrees, load, out_of_fold_risks
from benchmarks.interpreter.planted_rules import N_RULES, recovered

SPLITS = 10
PATIENTS, FEATURES = 70_000, 50


def planted(seeds: int) -> dict[str, Any]:
    """Recovered and false rules over the seeds."""
    counts = np.array([recovered(seed) for seed in range(seeds)])
    matched, false, shown = counts.sum(axis=0)
    per_seed = counts[:, 0] / N_RULES
    return {
        "seeds": f"0 to {seeds - 1}",
        "recovered": round(float(matched / (N_RULES * seeds)), 4),
        "recovered_standard_error": round(float(per_seed.std(ddof=1) / seeds**0.5), 4),
        "false": round(float(false / shown), 4),
        "shown": int(shown),
        "seeds_with_all": int(np.sum(counts[:, 0] == N_RULES)),
    }


def fidelity(name: str, model: str) -> dict[str, Any]:
    """Kappa by rules and by the tree, and conditions that point where medicine says."""
    cohort = load(name)
    risks = out_of_fold_risks(cohort, model)
    strata = make_strata(risks)
    r = stratum_indices(strata, risks)
    by_rules, by_tree, sizes, verdicts = [], [], [], []
    against: set[str] = set()
    for seed in range(SPLITS):
        rules = explain(cohort, risks, strata, seed)
        held_out = hold_out(risks, cohort.groups, np.random.default_rng(seed))
        X = SimpleImputer().fit(cohort.X[~held_out]).transform(cohort.X)
        leaves = max(2, len(rules.rules) + 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X[~held_out], r[~held_out])
        if rules.fidelity is None:
            raise ValueError(f"the risks of {name} form one stratum")
        by_rules.append(rules.fidelity.kappa)
        by_tree.append(cohen_kappa_score(r[held_out], tree.predict(X[held_out])))
        sizes.append(len(rules.rules))
        told = [(rule, c, agrees(name, rule, c)) for rule in rules.rules for c in rule.conditions]
        verdicts += [verdict for _, _, verdict in told if verdict is not None]
        against |= {f"{c.in_words()} -> {rule.stratum}" for rule, c, verdict in told if verdict is False}
    difference = np.subtract(by_rules, by_tree)
    return {
        "kappa_rules": round(float(np.mean(by_rules)), 3),
        "kappa_tree": round(float(np.mean(by_tree)), 3),
        "difference": round(float(difference.mean()), 3),
        "difference_standard_error": round(float(difference.std(ddof=1) / SPLITS**0.5), 3),
        "rules": round(float(np.mean(sizes)), 1),
        "conditions_with_known_direction": len(verdicts),
        "agree": int(np.sum(verdicts)),
        "against": sorted(against),
    }


def large() -> dict[str, Any]:
    """Seconds of a core and memory that the rules of many patients take."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(PATIENTS, FEATURES))
    X[:, FEATURES // 2 :] = np.round(X[:, FEATURES // 2 :])
    risks = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] - X[:, 2] + X[:, 30] + (X[:, 3] > 0) * X[:, 4]) / 2))
    features = tuple(Feature(f"x{j}", "numeric") for j in range(FEATURES))
    y = (rng.random(PATIENTS) < risks).astype(np.int8)
    cohort = Cohort("large", Binary("y", "1", "0"), features, X, y)
    start = time.process_time()
    rules = explain(cohort, risks, make_strata(risks))
    seconds = time.process_time() - start
    return {
        "patients": PATIENTS,
        "features": FEATURES,
        "seconds_of_a_core": round(seconds, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "rules": len(rules.rules),
        "kappa": None if rules.fidelity is None else round(rules.fidelity.kappa, 3),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("planted", "fidelity", "large"))
    parser.add_argument("--seeds", type=int, default=100)
    asked = parser.parse_args()
    document: dict[str, Any] = {"benchmark": "interpreter"}
    if asked.part in {None, "large"}:  # first, as the peak of memory is the process's
        document["large"] = large()
    if asked.part in {None, "fidelity"}:
        document["fidelity"] = {name: {model: fidelity(name, model) for model in MODELS} for name in COHORTS}
    if asked.part in {None, "planted"}:
        document["planted"] = planted(asked.seeds)
    libraries = ("autoprog", "numpy", "scikit-learn", "scipy")
    document["versions"] = {"python": platform.python_version()} | {name: version(name) for name in libraries}
    document["machine"] = platform.machine()
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
