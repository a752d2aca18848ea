"""Studies: several training runs that differ in one thing."""
