"""What calls cost: prices, estimates before a run, the budget, and what was spent."""
