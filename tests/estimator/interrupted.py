"""A script that fits for a long time, to be interrupted; it says what became of `fit`."""

from __future__ import annotations

import json

from autoprog import AutoPrognosis
from tests.estimator.support import patients

SPACE = {
    "imputation": ["median"],
    "features": ["none"],
    "prediction": ["logistic_regression", "ridge", "gaussian_nb"],
}

if __name__ == "__main__":
    X, y = patients(400)
    model = AutoPrognosis(time_budget_s=600, settings={"space": SPACE}, n_jobs=2, random_state=0, verbose=1)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        scores = [model.ensemble_["score"]["estimate"], model.ensemble_["baseline"]["score"]["estimate"]]
        warned = [text for text in model.warnings_ if "interrupted" in text]
        print(json.dumps({"scores": scores, "warnings": warned, "n": len(model.predict_risk(X))}), flush=True)
