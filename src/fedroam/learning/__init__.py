"""Data, models, local training, and the averaging of what users send."""
