"""Who decides on what: variants that several people decide on, and how much each person does."""
