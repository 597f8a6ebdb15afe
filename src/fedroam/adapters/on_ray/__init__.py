"""Ray: the same results from many machines."""
