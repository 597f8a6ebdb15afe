"""One file or folder for each outside system; nothing here is imported unless it is asked for."""
