"""Trains the prior network on synthetic clinical tables."""
