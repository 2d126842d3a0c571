"""The report of a search: what was done and found, as text and data for a paper."""
