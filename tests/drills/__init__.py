"""Drills: long proofs that the service keeps its promises; `make drills` runs them."""
