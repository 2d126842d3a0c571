"""Documents of catalogues of tests."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import FaultCollector
from api.diagnosis.names import MAX_NAME
from autoprog.catalogue import MAX_TESTS

# Values that `autoprog.catalogue` checks are taken as they come, so that one response names the faults of all parts.
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_NAMES: dict[str, Any] = {"type": "array", "items": _NAME}
_AMOUNT = {"type": "number", "minimum": 0}
_FREE = {**_AMOUNT, "default": 0}

Name = Annotated[Any, WithJsonSchema(_NAME)]
Amount = Annotated[Any, WithJsonSchema(_AMOUNT)]
Features = Annotated[Any, WithJsonSchema(_NAMES)]


class CatalogueTestRequest(BaseModel):
    """A test that can be ordered for a patient."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    cost: Amount = Field(description="Cost in money, at least 0.")
    minutes: Annotated[Any, WithJsonSchema(_FREE)] = Field(0, description="Duration in minutes.")
    harm: Annotated[Any, WithJsonSchema(_FREE)] = Field(
        0, description="Expected harm to the patient, such as the probability of a complication."
    )
    features: Features = Field(
        None,
        description="Features of cohorts, and findings of diagnosis models, that the test reveals. The default is the "
        "one of its own name. Several tests may reveal the same.",
    )


_EXAMPLE: JsonDict = {
    "name": "emergency department",
    "tests": [
        {"name": "history", "cost": 0, "minutes": 10, "features": ["age", "sex", "cp"]},
        {"name": "blood panel", "cost": 35, "minutes": 45, "features": ["chol", "fbs"]},
        {"name": "exercise ECG", "cost": 87.3, "minutes": 30, "harm": 0.0001, "features": ["thalach", "exang"]},
    ],
}


class CatalogueRequest(FaultCollector):
    """A hospital's tests: what each costs, how long it takes, how it may harm, and what it reveals."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: Name
    tests: list[CatalogueTestRequest] = Field(description=f"At most {MAX_TESTS:,} tests.")


class CatalogueTestDocument(BaseModel):
    """A test of a catalogue."""

    name: str
    cost: float
    minutes: float
    harm: float
    features: list[str]


class CatalogueDocument(BaseModel):
    """A catalogue. It never changes; what was made with it keeps a copy of its tests."""

    id: str
    name: str
    tests: list[CatalogueTestDocument]
    created_at: datetime


class PricesRequest(BaseModel):
    """Prices in money of a minute and of a unit of harm. They add to a test's cost and make its price."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"minute": 0.5, "harm": 20000}]})

    minute: Annotated[Any, WithJsonSchema(_FREE)] = Field(0, description="Money that a minute is worth.")
    harm: Annotated[Any, WithJsonSchema(_FREE)] = Field(0, description="Money that a unit of harm is worth.")


class PricesDocument(BaseModel):
    """Prices in money of a minute and of a unit of harm."""

    minute: float
    harm: float


class TestsOfCatalogue(BaseModel):
    """Tests from a catalogue instead of `tests`."""

    catalogue_id: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="Catalogue from which the tests are taken. Send either this or `tests`."
    )
    test_names: Annotated[Any, WithJsonSchema({**_NAMES, "minItems": 1})] = Field(
        None,
        description="Names of the catalogue's tests, in order. The default is all; with a cohort, those that reveal "
        "one of its features.",
    )
    prices: PricesRequest | None = Field(
        None, description="Worth of minutes and harm in the tests' costs. By default only money counts."
    )
