"""Problems of test selection, and rounds: which test to do next for a patient."""
