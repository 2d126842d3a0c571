"""Questions with more than two answers: a model and a patient's answers in, the next question out."""
