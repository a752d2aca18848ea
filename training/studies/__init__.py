"""Studies: several trainings that differ in one thing."""
