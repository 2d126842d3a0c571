"""Pages of cohorts."""
