"""The command line: thin, and the only place where names, files and terminals meet."""

from fedroam.cli.app import main

__all__ = ["main"]
