"""Federated learning over mobile wireless networks: schedule, simulate, compare."""
