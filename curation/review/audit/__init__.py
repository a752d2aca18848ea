"""The audit trail: who did what in a project, and when."""
