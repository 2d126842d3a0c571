"""Candidates that each answer to a question would leave, as the reason for asking it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoprog.diagnosis.noise import likelihood
from autoprog.diagnosis.responses import sums_by_code
from autoprog.diagnosis.session import Candidate, Session


@dataclass(frozen=True)
class AnswerEffect:
    """A possible answer to the next question.

    Attributes
    ----------
    answer : bool
        The answer.
    probability : float
        Its probability given the answers so far, in [0, 1].
    n_remaining : int
        Targets that would still be possible; 0 if the answer is impossible.
    likeliest : Candidate or None
        The most probable target after it; None if the answer is impossible.
    """

    answer: bool
    probability: float
    n_remaining: int
    likeliest: Candidate | None


def predict_answers(session: Session) -> tuple[AnswerEffect, AnswerEffect] | None:
    """Predict what yes and no to the next question would leave.

    Parameters
    ----------
    session : Session
        The state of a session.

    Returns
    -------
    tuple of AnswerEffect or None
        Yes, then no; None if nothing is asked.
    """
    if session.next_query is None:
        return None
    query = session.model.queries.index(session.next_query.name)
    return _effect(session, query, answer=True), _effect(session, query, answer=False)


def _effect(session: Session, query: int, *, answer: bool) -> AnswerEffect:
    model = session.model
    weights = session.posterior * likelihood(model, query, answer=answer)
    if model.stop == "group":
        weights = sums_by_code(model.target_of, weights, len(model.targets))
    probability = float(weights.sum())
    if probability <= 0:
        return AnswerEffect(answer, 0.0, 0, None)
    first = int(weights.argmax())
    likeliest = Candidate(model.targets[first], float(weights[first] / probability))
    return AnswerEffect(answer, min(probability, 1.0), int(np.count_nonzero(weights)), likeliest)
