"""``python -m fedroam``."""

from fedroam.cli import main

main()
