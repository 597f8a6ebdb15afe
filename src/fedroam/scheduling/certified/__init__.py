"""Schedules with a proof: bounds from prices, near-optimal search, exact solving."""
