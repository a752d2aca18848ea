"""Models as reviewers: their opinions, their agreement with people, and whether they count."""
