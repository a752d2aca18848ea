"""Costs of calls: prices, estimates, budgets and spending."""
