"""`/v1/diagnosis`: models of which object gives which answer, their trees, and sessions that ask the next question."""
