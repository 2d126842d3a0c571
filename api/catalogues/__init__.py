"""Catalogues of diagnostic tests, which test selections, frontiers and sessions of diagnosis share."""
