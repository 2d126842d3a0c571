"""Request bodies whose faults are reported together with those that the service finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator

from api.problems import faults_of_validation
from api.uploads import validate_rest
from autoprog.errors import Fault


class FaultCollector(BaseModel):
    """A request body that is validated as far as possible: unknown keys and faulty optional keys become faults.

    A service that takes such a body starts with its `faults` and does nothing if there are any.
    """

    model_config = ConfigDict(extra="forbid")

    _faults: tuple[Fault, ...] = PrivateAttr(())

    @property
    def faults(self) -> list[Fault]:
        """Faults of the keys that were left out."""
        return list(self._faults)

    def beside(self, faults: Sequence[Fault]) -> Self:
        """Put the faults of the request's headers before those of the body."""
        self._faults = (*faults, *self._faults)
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _collect(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401 - whatever was sent
        try:
            return handler(given)
        except ValidationError as error:
            rest = validate_rest(handler, given, error)
            if rest is None:
                raise
            rest._faults = faults_of_validation(error.errors(include_input=False))  # noqa: SLF001  its own
            return rest
