"""Bodies whose faults are told with those that the service finds, not before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator

from api.problems import faults_of_validation
from api.uploads import validate_rest
from autoprog.errors import Fault


class FaultCollector(BaseModel):
    """A body that is validated as far as it can be: keys that are unknown, or can be spared, become faults.

    Whoever takes such a body begins with its `faults`, and does nothing where there are any.
    """

    model_config = ConfigDict(extra="forbid")

    _faults: tuple[Fault, ...] = PrivateAttr(())

    @property
    def faults(self) -> list[Fault]:
        """What is wrong with the keys that were left out."""
        return list(self._faults)

    def beside(self, faults: Sequence[Fault]) -> Self:
        """The body of a request that has these faults in its headers, which are told first."""
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
