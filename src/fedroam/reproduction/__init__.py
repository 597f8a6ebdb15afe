"""The paper's experiments, and what is kept of them."""

from fedroam.reproduction.results import collect, derive
from fedroam.reproduction.studies import DATASETS, GROUPS, PROFILES, STUDIES, Piece, pieces

__all__ = ["DATASETS", "GROUPS", "PROFILES", "STUDIES", "Piece", "collect", "derive", "pieces"]
