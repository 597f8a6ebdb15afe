"""
``fedroam serve``: problems in, schedules out, for those who are not in Python.

Needs ``pip install 'fedroam[serve]'``.
"""

from fedroam.adapters.serve.server import Serving, serve

__all__ = ["Serving", "serve"]
