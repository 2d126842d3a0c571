"""Make problems from requests, and report the faults of all parts together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from api.catalogues.choice import build_features, place_in_choice, take_tests, without_catalogue
from api.catalogues.schemas import TestsOfCatalogue
from api.diagnosis.names import NAME_FAULT, is_name
from api.numbers import MAX_SEED, is_integer, parse_number
from api.test_selection.problems.pipelines import build_configuration
from api.test_selection.problems.schemas import DiagnosticTestRequest, ProblemRequest
from api.uploads import attempt
from autoprog.cohort import Binary, Cohort
from autoprog.csmd import (
    FOLDS,
    SETTINGS,
    SIMPLE,
    THRESHOLD,
    Arms,
    DiagnosticTest,
    Policy,
    SelectionProblem,
    make_arms,
    make_policy,
    training_faults,
)
from autoprog.errors import Fault, InvalidInputError
from autoprog.space import Configuration


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """How the classifiers of the arms are trained."""

    configuration: Configuration  # of every arm
    folds: int  # of the out-of-sample predictions
    threshold: float  # risk from which on the prediction is 1


def build_problem(
    request: ProblemRequest, cohort: Cohort | None, catalogue: Sequence[DiagnosticTest] | None = None
) -> tuple[SelectionProblem, TrainingRequest | None]:
    """Make a problem, and how to train it if it has a cohort; raises InvalidInputError."""
    faults = request.faults
    if not is_name(request.name):
        faults.append(Fault("/name", NAME_FAULT))
    if not is_integer(request.seed, 0, MAX_SEED - 1):
        faults.append(Fault("/seed", "must be a whole number, at least 0 and below 2^63"))
    features = None if cohort is None else {feature.name for feature in cohort.features}
    tests = choose_tests(request, request.tests, catalogue, features, faults)
    trade_off = _trade_off(request.trade_off, faults)
    arms = attempt(faults, lambda: _arms(request.structure, tests, trade_off))
    policy = attempt(faults, lambda: _policy(request))
    training = _training(request, cohort, tests, faults)
    if faults or arms is None or policy is None:
        raise InvalidInputError(_once(place_in_choice(request, faults)))
    return SelectionProblem(arms, policy), training


def _arms(structure: object, tests: Sequence[DiagnosticTest], trade_off: float | Sequence[float]) -> Arms:
    return make_arms(_text(structure), tests, trade_off)  # type: ignore[arg-type]


def _policy(request: ProblemRequest) -> Policy:
    given = {name: getattr(request, name) for name in SETTINGS if getattr(request, name) is not None}
    numbers = {name: parse_number(value) for name, value in given.items()}
    faults = [Fault(f"/{name}", "must be a number") for name, number in numbers.items() if number is None]
    settings = {name: number for name, number in numbers.items() if number is not None}
    policy = attempt(faults, lambda: make_policy(_text(request.algorithm), **settings))  # type: ignore[arg-type]
    if faults or policy is None:
        raise InvalidInputError(faults)
    return policy


def choose_tests(
    choice: TestsOfCatalogue,
    requests: Sequence[DiagnosticTestRequest] | None,
    catalogue: Sequence[DiagnosticTest] | None,
    features: Collection[str] | None,
    faults: list[Fault],
) -> list[DiagnosticTest]:
    """Choose the tests of a request: of a catalogue, or those written out; `features` are the cohort's, if any."""
    if catalogue is not None:
        if requests is not None:
            faults.append(Fault("/catalogue_id", "the request has tests of its own: leave one of the two out"))
        return take_tests(choice, catalogue, features, faults)
    faults += without_catalogue(choice)
    if requests is None:
        faults.append(Fault("/tests", "give the tests, or `catalogue_id`"))
    return build_tests(requests or [], faults, with_features=features is not None)


def build_tests(
    requests: Sequence[DiagnosticTestRequest], faults: list[Fault], *, with_features: bool
) -> list[DiagnosticTest]:
    """Make the tests; what is invalid becomes a fault and is replaced by something valid."""
    # `make_arms` and `check_tests` find the faults of the tests together.
    tests = []
    for k, request in enumerate(requests):
        name, cost = request.name, parse_number(request.cost)
        if not is_name(name):
            faults.append(Fault(f"/tests/{k}/name", NAME_FAULT))
            name = f"test {k + 1}"
        if cost is None:
            faults.append(Fault(f"/tests/{k}/cost", "must be a number"))
        features = build_features(request.features, f"/tests/{k}/features", faults)
        if request.features is not None and not with_features:
            faults.append(Fault(f"/tests/{k}/features", "a test measures features of a cohort: give `cohort_id` too"))
        tests.append(DiagnosticTest(name, 0.0 if cost is None else cost, features if with_features else ()))
    return tests


def _trade_off(given: object, faults: list[Fault]) -> float | tuple[float, ...]:
    if isinstance(given, list):
        values = [parse_number(value) for value in given]
        faults += [Fault(f"/trade_off/{i}", "must be a number") for i, value in enumerate(values) if value is None]
        return tuple(0.0 if value is None else value for value in values)
    value = parse_number(given)
    if value is None:
        faults.append(Fault("/trade_off", "must be a number, or a list with one per arm"))
    return 0.0 if value is None else value


def _training(
    request: ProblemRequest, cohort: Cohort | None, tests: Sequence[DiagnosticTest], faults: list[Fault]
) -> TrainingRequest | None:
    if cohort is None:
        faults += [
            Fault(f"/{name}", "says how classifiers are trained: give `cohort_id` too")
            for name in ("configuration", "folds", "threshold")
            if getattr(request, name) is not None
        ]
        return None
    folds = FOLDS if request.folds is None else request.folds
    if not is_integer(folds, -MAX_SEED, MAX_SEED):
        faults.append(Fault("/folds", "must be a whole number, at least 2"))
        folds = FOLDS
    threshold = parse_number(THRESHOLD if request.threshold is None else request.threshold)
    if threshold is None:
        faults.append(Fault("/threshold", "must be a number in (0, 1)"))
    threshold = THRESHOLD if threshold is None else threshold
    configuration = attempt(faults, lambda: build_configuration(request.configuration))
    if isinstance(cohort.outcome, Binary):
        faults += training_faults(cohort, tests, folds=folds, threshold=threshold)
    else:
        faults.append(Fault("/cohort_id", "classifiers need a cohort with an outcome of two values"))
    return TrainingRequest(SIMPLE if configuration is None else configuration, folds, threshold)


def _text(value: object) -> str:
    """Return a text that can be compared with names; anything but a short text matches none."""
    return value if isinstance(value, str) and len(value) <= 50 and is_name(value) else "that"


def _once(faults: Sequence[Fault]) -> list[Fault]:
    """Keep the first fault of each place."""
    return list({fault.pointer: fault for fault in reversed(faults)}.values())[::-1]
