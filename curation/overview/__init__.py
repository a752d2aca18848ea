"""The project at a glance: counts, the funnel, next steps, and its settings."""
