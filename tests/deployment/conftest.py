"""What of this folder can run here."""

from __future__ import annotations

import os

# docker-compose.yml runs on PostgreSQL, and so does its test.
collect_ignore = [] if os.environ.get("AUTOPROG_TEST_POSTGRES") else ["test_processes.py"]
