"""A clinician's rules and the thresholds of strata, from a client's JSON to the plan of a search."""

from __future__ import annotations

import pytest

from autoprog.errors import InvalidInputError
from autoprog.interpreter import Condition, Prior, PriorRule
from autoprog.search.planning import plan_search
from autoprog.search.settings import SearchSettings
from tests.cohorts import cleveland_cohort, labelled_visits


def test_a_clinicians_rule_is_read_as_it_was_sent() -> None:
    sent = {
        "conditions": [
            {"feature": "cp", "operator": "=", "value": 4},
            {"feature": "age", "operator": ">=", "value": 60},
        ],
        "stratum": "high",
        "probability": 0.8,
        "strength": 25,
    }
    settings, _ = plan_search(SearchSettings.model_validate({"prior_rules": [sent]}), cleveland_cohort())
    (rule,) = settings.prior_rules
    conditions = (Condition("cp", "=", 4.0), Condition("age", ">=", 60.0))
    assert rule.stated() == PriorRule(conditions, "high", Prior(0.8, 25.0))


def test_all_faults_of_strata_and_rules_come_at_once() -> None:
    def rule(**condition: object) -> dict[str, object]:
        return {"conditions": [condition], "stratum": "low", "probability": 0.5}

    settings = SearchSettings.model_validate(
        {
            "strata": {"high": 0.3, "medium": 0.3},
            "prior_rules": [
                rule(feature="agee", operator=">=", value=60),
                rule(feature="age", operator=">=", value=600),
                rule(feature="sex", operator="=", value=True),
            ],
        }
    )
    with pytest.raises(InvalidInputError) as refused:
        plan_search(settings, cleveland_cohort())
    assert [fault.pointer for fault in refused.value.faults] == [
        "/strata/medium",
        "/prior_rules/0/conditions/0/feature",
        "/prior_rules/1/conditions/0/value",
        "/prior_rules/2/conditions/0/value",
    ]


def test_rules_and_subgroups_of_visits_speak_of_their_windows() -> None:
    def asked(name: str) -> SearchSettings:
        rule = {"conditions": [{"feature": name, "operator": ">=", "value": 2}], "stratum": "high", "probability": 0.8}
        return SearchSettings.model_validate({"prior_rules": [rule], "subgroups": [name], "window": 3})

    with pytest.raises(InvalidInputError) as refused:
        plan_search(asked("bili"), labelled_visits())
    pointers = [fault.pointer for fault in refused.value.faults]
    assert pointers == ["/prior_rules/0/conditions/0/feature", "/subgroups/0"]
    assert "bili (last)" in refused.value.faults[0].detail
    settings, _ = plan_search(asked("bili (last)"), labelled_visits())
    assert list(settings.subgroups or ()) == ["bili (last)"]
