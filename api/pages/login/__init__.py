"""Log-in and log-out."""
