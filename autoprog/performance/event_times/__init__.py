"""Performance of risk curves, at every horizon and over all."""
