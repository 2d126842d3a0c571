"""Make learners and cases from requests, and report the faults of all parts together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from api.diagnosis.names import NAME_FAULT, is_name
from api.numbers import MAX_SEED, is_integer, parse_number
from api.problems import to_pointer
from api.thresholds.schemas import MAX_CASES, MAX_PARAMETERS, MAX_VALUES, CutCasesRequest, ThresholdLearnerRequest
from api.uploads import attempt
from autoprog.diagnosis.discretization import BanditOptions, CutFeature, CutLearner, CutOptions, candidate_thresholds
from autoprog.errors import Fault, InvalidInputError, TooLargeError

_THRESHOLDS = 9
_OF_A_FEATURE = {"name", "thresholds", "sample", "n_thresholds"}
_OF_A_CASE = {"values", "label"}
_STANDS_IN = (0.0,)


def build_learner(request: ThresholdLearnerRequest) -> CutLearner:
    """Make a learner that has seen no case; raises InvalidInputError and TooLargeError."""
    faults = request.faults
    if not is_name(request.name):
        faults.append(Fault("/name", NAME_FAULT))
    features = _features(request.features, faults)
    labels = _labels(request.labels, faults)
    size = len(labels) * sum(len(feature.thresholds) for feature in features)
    if size > MAX_PARAMETERS:
        raise TooLargeError(f"{size:,} pairs of a label and a threshold, at most {MAX_PARAMETERS:,} are allowed")
    bandit = attempt(faults, lambda: _bandit(request))
    options = _options(request, BanditOptions() if bandit is None else bandit, faults)
    try:
        learner = CutLearner(features, labels, options)
    except InvalidInputError as error:
        known = {fault.pointer for fault in faults}
        raise InvalidInputError([*faults, *(f for f in error.faults if f.pointer not in known)]) from error
    if faults:
        raise InvalidInputError(faults)
    return learner


def _features(given: object, faults: list[Fault]) -> list[CutFeature]:
    if not isinstance(given, list):
        faults.append(Fault("/features", "must be a list of features"))
        return []
    return [_feature(each, f"/features/{i}", faults) for i, each in enumerate(given)]


def _feature(given: object, place: str, faults: list[Fault]) -> CutFeature:
    """Make a feature; an invalid one becomes faults and is replaced by a valid one."""
    if not isinstance(given, Mapping):
        faults.append(Fault(place, "must be an object with a name, and thresholds or a sample"))
        return CutFeature(place, _STANDS_IN)
    faults += [Fault(place + to_pointer((key,)), "is not known") for key in given if key not in _OF_A_FEATURE]
    name = str(given["name"]) if is_name(given.get("name")) else place
    if name is place:
        faults.append(Fault(f"{place}/name", NAME_FAULT))
    of_sample = [key for key in ("sample", "n_thresholds") if given.get(key) is not None]
    if given.get("thresholds") is not None:
        faults += [Fault(f"{place}/{key}", "give thresholds or a sample, not both") for key in of_sample]
        return CutFeature(name, _numbers(given["thresholds"], f"{place}/thresholds", faults))
    count = _THRESHOLDS if given.get("n_thresholds") is None else given["n_thresholds"]
    if not is_integer(count, 1, MAX_PARAMETERS):
        faults.append(Fault(f"{place}/n_thresholds", f"must be a whole number from 1 to {MAX_PARAMETERS:,}"))
        count = _THRESHOLDS
    if given.get("sample") is None:
        faults.append(Fault(f"{place}/thresholds", "missing; or give a sample of values"))
        return CutFeature(name, _STANDS_IN)
    before = len(faults)
    sample = _numbers(given["sample"], f"{place}/sample", faults)
    tau = candidate_thresholds(np.array(sample), count)
    if not len(tau) and len(faults) == before:
        faults.append(Fault(f"{place}/sample", "does not vary: there is nothing to cut"))
    return CutFeature(name, tuple(tau.tolist()) or _STANDS_IN)


def _numbers(given: object, place: str, faults: list[Fault]) -> tuple[float, ...]:
    values = [parse_number(value) for value in given] if isinstance(given, list) else []
    wrong = [i for i, value in enumerate(values) if value is None or not np.isfinite(value)]
    if not values:
        faults.append(Fault(place, "must be a list of numbers, at least one"))
    faults += [Fault(f"{place}/{i}", "must be a finite number") for i in wrong]
    return _STANDS_IN if wrong or not values else tuple(value for value in values if value is not None)


def _labels(given: object, faults: list[Fault]) -> list[str]:
    if not isinstance(given, list):
        faults.append(Fault("/labels", "must be a list of at least two names"))
        return ["a", "b"]
    faults += [Fault(f"/labels/{j}", NAME_FAULT) for j, name in enumerate(given) if not is_name(name)]
    return [name if is_name(name) else f"/labels/{j}" for j, name in enumerate(given)]


def _bandit(request: ThresholdLearnerRequest) -> BanditOptions:
    faults: list[Fault] = []
    numbers: dict[str, Any] = {}
    for name in ("rate", "mixing", "floor"):
        value = getattr(request, name)
        number = parse_number(value)
        if number is None and value is not None:
            faults.append(Fault(f"/{name}", "must be a number"))
        elif number is not None:
            numbers[name] = number
    if request.queries is not None:
        if is_integer(request.queries, -MAX_SEED, MAX_SEED):
            numbers["queries"] = request.queries
        else:
            faults.append(Fault("/queries", "must be a whole number, at least 1"))
    form: Any = request.form if is_name(request.form) else "that"
    bandit = attempt(faults, lambda: BanditOptions(form, **numbers))
    if faults or bandit is None:
        raise InvalidInputError(faults)
    return bandit


def _options(request: ThresholdLearnerRequest, bandit: BanditOptions, faults: list[Fault]) -> CutOptions:
    pair = request.prior if isinstance(request.prior, list | tuple) else ()
    prior = [number for number in map(parse_number, pair) if number is not None]
    if len(prior) != 2 or len(pair) != 2:
        faults.append(Fault("/prior", "must be two numbers above 0"))
        prior = [1.0, 1.0]
    seed = request.seed
    if not is_integer(seed, 0, MAX_SEED - 1):
        faults.append(Fault("/seed", "must be a whole number, at least 0 and below 2^63"))
        seed = 0
    updates: Any = request.updates if is_name(request.updates) else "that"
    choice: Any = request.choice if is_name(request.choice) else "that"
    return CutOptions(updates, choice, bandit, (prior[0], prior[1]), seed)


def read_cases(learner: CutLearner, request: CutCasesRequest) -> tuple[NDArray[np.float64], list[int]]:
    """Return values (cases by features, NaN if missing) and label codes; raises InvalidInputError and TooLargeError."""
    faults = request.faults
    given = request.cases
    if not isinstance(given, list) or not given:
        raise InvalidInputError([*faults, Fault("/cases", "must be a list of at least one case")])
    if len(given) > MAX_CASES or len(given) * len(learner.features) > MAX_VALUES:
        raise TooLargeError(
            f"{len(given):,} cases of {len(learner.features):,} features: send at most {MAX_CASES:,} cases, and "
            f"{MAX_VALUES:,} values, at a time"
        )
    places = {feature.name: i for i, feature in enumerate(learner.features)}
    codes = {label: j for j, label in enumerate(learner.labels)}
    values, labels = np.full((len(given), len(places)), np.nan), []
    for i, case in enumerate(given):
        if not isinstance(case, Mapping):
            faults.append(Fault(f"/cases/{i}", "must be an object with values and a label"))
            continue
        faults += [Fault(to_pointer(("cases", i, key)), "is not known") for key in case if key not in _OF_A_CASE]
        _read_values(case.get("values"), i, places, values[i], faults)
        label = case.get("label")
        if isinstance(label, str) and label in codes:
            labels.append(codes[label])
        else:
            faults.append(Fault(f"/cases/{i}/label", "is none of the learner's labels"))
    if faults:
        raise InvalidInputError(faults)
    return values, labels


def _read_values(
    given: object, case: int, places: Mapping[str, int], row: NDArray[np.float64], faults: list[Fault]
) -> None:
    if not isinstance(given, Mapping):
        faults.append(Fault(f"/cases/{case}/values", "must be an object: feature -> number or null"))
        return
    for name, value in given.items():
        place = to_pointer(("cases", case, "values", name))
        number = parse_number(value)
        if name not in places:
            faults.append(Fault(place, "the learner has no such feature"))
        elif value is not None and (number is None or not np.isfinite(number)):
            faults.append(Fault(place, "must be a finite number or null"))
        elif number is not None:
            row[places[name]] = number
