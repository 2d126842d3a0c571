"""`/v1/diagnosis`: models of which object answers what, their trees, and sessions that ask the next question."""
