"""Models as reviewers: their opinions, how far they agree with people, and whether they count."""
