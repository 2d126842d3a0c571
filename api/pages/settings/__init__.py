"""An owner's keys and sessions, and the audit trail."""
