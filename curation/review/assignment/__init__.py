"""Assignment: variants for several people, and a quota for each person."""
