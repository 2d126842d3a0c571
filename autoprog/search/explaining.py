"""The explanation of an ended search's ensemble, from the documents that are stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan
from autoprog.explanation import Explanation, Member, explain
from autoprog.search.planning import explored_patients, plan_for
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration


def plan_explanation(settings: SearchSettings, cohort: Cohort) -> Plan:
    """Return the folds of an explanation: those of the search, which samples a large cohort."""
    plan = plan_for(settings, cohort, settings.folds or 2)
    return replace(plan, patients=explored_patients(cohort, plan))


def explain_ensemble(cohort: Cohort, ensemble: Mapping[str, Any], plan: Plan) -> Explanation:
    """Explain the ensemble of a document; raises ValueError if no member can be fitted any longer."""
    members = [Member(Configuration.from_json(each["configuration"]), each["weight"]) for each in ensemble["members"]]
    return explain(cohort, plan, members, ensemble["scale"])
