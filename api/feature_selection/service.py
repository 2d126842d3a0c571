"""Feature-selection streams; every step locks the stream's row, so that none is lost."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from api.diagnosis.names import NAME_FAULT, is_name
from api.feature_selection.schemas import (
    MAX_FEATURES,
    MAX_MEMBERSHIPS,
    MomentsRequest,
    ObservationDocument,
    ObservationRequest,
    PerformanceDocument,
    SelectionDocument,
    StreamDocument,
    StreamRequest,
)
from api.numbers import MAX_SEED, is_integer, parse_number
from api.problems import to_pointer
from api.uploads import attempt
from autoprog.errors import ConflictError, Fault, InvalidInputError, TooLargeError
from autoprog.feature_streams import (
    LARGEST_STEP,
    Family,
    FeatureGroup,
    FeatureStream,
    GivenMoments,
    Observation,
    OnlinePerformance,
    StreamOptions,
)
from autoprog.storage.repositories import FeatureSelectionRepository, FeatureStreamRepository
from autoprog.storage.test_selection_tables import FeatureSelectionRow, FeatureStreamRow

_NUMBERS = ("step", "epsilon", "cap", "noise")
_OF_A_GROUP = {"name", "features", "cost"}


def create_stream(session: Session, owner_id: str, request: StreamRequest) -> FeatureStreamRow:
    """Store a stream that has seen no patient; raises InvalidInputError."""
    faults = request.faults
    if not is_name(request.name):
        faults.append(Fault("/name", NAME_FAULT))
    features = _features(request.features, faults)
    options = _options(request, faults)
    moments = attempt(faults, lambda: _moments(request.standardisation))
    stream = None
    if features:
        stream = attempt(faults, lambda: FeatureStream(features, options, standardisation=moments))
    else:
        faults += options.faults(None)
    if faults or stream is None:
        raise InvalidInputError(faults)
    document = _make_document(stream)
    return FeatureStreamRepository(session).add(owner_id, name=request.name, document=document, state=stream.to_json())


def _features(given: object, faults: list[Fault]) -> list[str]:
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_FEATURES:
        faults.append(Fault("/features", f"must be a list of 1 to {MAX_FEATURES:,} names"))
        return []
    faults += [Fault(f"/features/{j}", NAME_FAULT) for j, name in enumerate(given) if not is_name(name)]
    return [name if is_name(name) else f"feature {j + 1}" for j, name in enumerate(given)]


def _options(request: StreamRequest, faults: list[Fault]) -> StreamOptions:
    """Return the options; invalid ones become faults and are replaced by the default."""
    default = StreamOptions()
    chosen: dict[str, Any] = {}
    for name in _NUMBERS:
        chosen[name] = parse_number(getattr(request, name))
        if chosen[name] is None:
            faults.append(Fault(f"/{name}", "must be a number"))
            chosen[name] = getattr(default, name)
    for name in ("algorithm", "classifier", "likelihood"):
        value = getattr(request, name)
        chosen[name] = value if is_name(value) else "that"
    chosen["subset_size"] = request.subset_size
    if request.subset_size is not None and not is_integer(request.subset_size, -MAX_SEED, MAX_SEED):
        faults.append(Fault("/subset_size", "must be a whole number"))
        chosen["subset_size"] = None
    if not is_integer(request.seed, 0, MAX_SEED - 1):
        faults.append(Fault("/seed", "must be a whole number, at least 0 and below 2^63"))
    if not isinstance(request.truncate, bool):
        faults.append(Fault("/truncate", "must be true or false"))
    pair = request.prior if isinstance(request.prior, list | tuple) else ()
    numbers = [number for number in map(parse_number, pair) if number is not None]
    if len(numbers) != 2 or len(pair) != 2:
        is_normal = request.likelihood == "gaussian"
        wanted = "a mean and a standard deviation above 0" if is_normal else "two numbers above 0"
        faults.append(Fault("/prior", f"must be {wanted}"))
        numbers = list(default.prior)
    seed = request.seed if is_integer(request.seed, 0, MAX_SEED - 1) else 0
    return StreamOptions(
        **chosen,
        truncate=request.truncate is True,
        prior=(numbers[0], numbers[1]),
        family=_family(request, faults),
        seed=seed,
    )


def _family(request: StreamRequest, faults: list[Fault]) -> Family | None:
    """The family of allowed subsets, or None for all; adds a fault for each invalid entry."""
    given = {name: getattr(request, name) for name in ("groups", "subsets", "budget", "trade_off")}
    if all(value is None for value in given.values()):
        return None
    before = len(faults)
    numbers = {name: parse_number(given[name]) for name in ("budget", "trade_off") if given[name] is not None}
    faults += [Fault(f"/{name}", "must be a number") for name, number in numbers.items() if number is None]
    groups = _groups(given["groups"], faults)
    subsets = _subsets(given["subsets"], faults)
    if len(faults) > before:
        return None
    return Family(groups, subsets, numbers.get("budget"), numbers.get("trade_off") or 0.0)


def _groups(given: object, faults: list[Fault]) -> tuple[FeatureGroup, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        faults.append(Fault("/groups", "must be a list of groups"))
        return ()
    return tuple(_group(each, f"/groups/{g}", faults) for g, each in enumerate(given))


def _group(given: object, place: str, faults: list[Fault]) -> FeatureGroup:
    if not isinstance(given, Mapping):
        faults.append(Fault(place, "must be an object with a name and features"))
        return FeatureGroup(place, ())
    faults += [Fault(place + to_pointer((key,)), "is not known") for key in given if key not in _OF_A_GROUP]
    if not is_name(given.get("name")):
        faults.append(Fault(f"{place}/name", NAME_FAULT))
    cost = parse_number(given.get("cost", 0.0))
    if cost is None:
        faults.append(Fault(f"{place}/cost", "must be a number"))
    features = _names(given.get("features"), f"{place}/features", faults)
    return FeatureGroup(str(given.get("name")), features, cost or 0.0)


def _subsets(given: object, faults: list[Fault]) -> tuple[tuple[str, ...], ...] | None:
    if given is None:
        return None
    if not isinstance(given, list):
        faults.append(Fault("/subsets", "must be a list of lists of names"))
        return None
    size = sum(len(each) if isinstance(each, list) else 1 for each in given)
    if size > MAX_MEMBERSHIPS:
        raise TooLargeError(f"{size:,} features in all subsets together, at most {MAX_MEMBERSHIPS:,} are allowed")
    return tuple(_names(each, f"/subsets/{i}", faults) for i, each in enumerate(given))


def _names(given: object, place: str, faults: list[Fault]) -> tuple[str, ...]:
    if not isinstance(given, list):
        faults.append(Fault(place, "must be a list of names"))
        return ()
    faults += [Fault(f"{place}/{f}", NAME_FAULT) for f, name in enumerate(given) if not is_name(name)]
    return tuple(map(str, given))


def _moments(given: MomentsRequest | None) -> GivenMoments | None:
    if given is None:
        return None
    faults, columns = [], []
    for name in ("mean", "sd"):
        values = getattr(given, name)
        numbers = [parse_number(value) for value in values] if isinstance(values, list) else [None]
        if any(number is None for number in numbers):
            faults.append(Fault(f"/standardisation/{name}", "must be a list of numbers, one per feature"))
        columns.append(np.array([math.nan if number is None else number for number in numbers]))
    if faults:
        raise InvalidInputError(faults)
    return GivenMoments(*columns)


def select_features(session: Session, owner_id: str, stream_id: str) -> FeatureSelectionRow:
    """Choose the features to look at in the next patient; raises NotFoundError."""
    streams = FeatureStreamRepository(session)
    row = streams.lock(owner_id, stream_id)
    stream = FeatureStream.from_json(row.state)
    number, subset = stream.select()
    streams.change(row, document=_make_document(stream), state=stream.to_json())
    return FeatureSelectionRepository(session).add(row, number, [stream.features[j] for j in subset])


def observe_patient(
    session: Session, owner_id: str, stream_id: str, request: ObservationRequest
) -> ObservationDocument:
    """Predict a patient, then learn the label; raises NotFoundError, InvalidInputError and ConflictError."""
    streams, selections = FeatureStreamRepository(session), FeatureSelectionRepository(session)
    row = streams.lock(owner_id, stream_id)
    selection = selections.of(owner_id, stream_id, request.selection_id, lock=True)
    faults = request.faults
    values = _bounded(request.values, selection.features, faults)
    stream = FeatureStream.from_json(row.state)
    place = {name: j for j, name in enumerate(stream.features)}
    subset = np.array([place[name] for name in selection.features], dtype=np.intp)
    reward = None if request.reward is None else _number_or_text(request.reward)
    faults += stream.find_faults(subset, values, request.label, reward)
    if faults:
        raise InvalidInputError(faults)
    digest = _digest(values, request.label, reward)
    if selection.observed is not None:  # a repeated observation gets the first response again
        if selection.observed["digest"] != digest:
            raise ConflictError("the selection was observed before, with other values, another label or reward")
        return ObservationDocument.model_validate(selection.observed["answer"])
    document = _observation(stream.observe(subset, values, request.label, reward))
    streams.change(row, document=_make_document(stream), state=stream.to_json())
    selections.observe(selection, {"digest": digest, "answer": document.model_dump()})
    return document


def _observation(seen: Observation) -> ObservationDocument:
    return ObservationDocument(
        prediction=1 if seen.prediction else 0, correct=seen.correct, **_performance(seen.performance)
    )


def _performance(performance: OnlinePerformance) -> dict[str, float | None]:
    return {name: getattr(performance, name) for name in PerformanceDocument.model_fields}


def _number_or_text(given: object) -> object:
    """Parse a number out of JSON; anything else becomes a text, which the stream refuses."""
    number = parse_number(given)
    return str(given) if number is None else number


def _digest(values: Mapping[str, object], label: object, reward: object) -> str:
    """Digest an observation, so that no value has to be kept; 1, 1.0 and true are the same label."""
    plain = float(label) if isinstance(label, bool | int | float) else None
    observed = [values, plain] if reward is None else [values, plain, reward]
    return hashlib.sha256(json.dumps(observed, sort_keys=True).encode()).hexdigest()


def _is_bounded(number: float | None) -> bool:
    return number is not None and abs(number) < LARGEST_STEP


def _bounded(values: object, selected: Sequence[str], faults: list[Fault]) -> dict[str, object]:
    """Return the values as floats; what is no number, or has a square that overflows, becomes a fault and None."""
    if not isinstance(values, dict):
        faults.append(Fault("/values", "must be an object"))
        return dict.fromkeys(selected)
    numbers: dict[str, object] = {}
    for name, value in values.items():
        number = parse_number(value)
        numbers[name] = number if _is_bounded(number) else None
        if value is not None and numbers[name] is None:
            detail = f"must be a finite number or null, below {LARGEST_STEP:g} in size"
            faults.append(Fault(to_pointer(("values", name)), detail))
    return numbers


def _make_document(stream: FeatureStream) -> dict[str, Any]:
    """Return everything that the API shows of a stream besides the row's columns."""
    options: Mapping[str, Any] = stream.options.to_json()
    return {
        **options,
        **_performance(stream.performance),
        "features": list(stream.features),
        "subset_size": stream.options.resolve_size(len(stream.features)),
        "standardisation": stream.standardisation_kind,
        "n_selections": stream.selections,
        "n_observations": stream.performance.rounds,
        "best_features": list(stream.best_features),
    }


def stream_document(row: FeatureStreamRow) -> StreamDocument:
    """Return the document of a stream."""
    return StreamDocument(
        **row.document, id=row.id, name=row.name, created_at=row.created_at, changed_at=row.changed_at
    )


def selection_documents(
    session: Session, owner_id: str, stream_id: str, rows: Sequence[FeatureSelectionRow]
) -> list[SelectionDocument]:
    """Return the documents of a stream's selections; reads the stream for the order of its groups."""
    stream = FeatureStreamRepository(session).get(owner_id, stream_id).document
    family = Family() if stream.get("family") is None else Family.from_json(stream["family"])
    return [_selection_document(row, family, stream["features"]) for row in rows]


def _selection_document(row: FeatureSelectionRow, family: Family, features: Sequence[str]) -> SelectionDocument:
    order, cost = family.order(features, row.features)
    return SelectionDocument(
        order=list(order),
        cost=cost,
        id=row.id,
        stream_id=row.stream_id,
        number=row.number,
        features=row.features,
        observation=None if row.observed is None else row.observed["answer"],
        created_at=row.created_at,
        observed_at=row.observed_at,
    )
