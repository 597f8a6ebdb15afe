"""``fedroam reproduce``."""

from pathlib import Path
from typing import Any

from fedroam.cli.compared import print_comparison
from fedroam.cli.comparing import play_with_bars, write_comparison
from fedroam.cli.screen import print_json, say
from fedroam.cli.sweeping import play_cells, print_sweep, write_sweep
from fedroam.comparison import (
    begin_sweep,
    differences,
    open_sweep,
    sentences,
    sweep_tables_of,
    tables_of,
)
from fedroam.errors import ConfigError
from fedroam.learning import datasets
from fedroam.reproduction import Piece, collect, derive, pieces
from fedroam.reproduction.studies import TIMING


def reproduce_command(
    name: str,
    profile: str,
    chosen: list[str],
    seeds: int | None,
    out: Path,
    workers: int,
    collect_into: Path | None,
    *,
    as_json: bool,
) -> None:
    """Play the pieces one after another, each into its folder; or collect what there is."""
    found = pieces(name, out, profile=profile, datasets=tuple(chosen), seeds=seeds)
    if collect_into is not None:
        answers = _collect(found, collect_into)
    else:
        for dataset in dict.fromkeys(piece.dataset for piece in found):
            if dataset != TIMING:
                datasets.load(dataset)
        answers = [_play(piece, workers, as_json=as_json) for piece in found]
    if as_json:
        print_json({"pieces": answers})


def _play(piece: Piece, workers: int, *, as_json: bool) -> dict[str, Any]:
    """Play one piece to its end and write its tables and figures."""
    if piece.points:
        cells = piece.cells()
        begin_sweep(cells, piece.folder)
        play_cells(cells, piece.folder, workers, piece.name)
        tables = sweep_tables_of(open_sweep(piece.folder))
        files = write_sweep(tables, piece.folder)
        if not as_json:
            say(piece.name)
            print_sweep(tables, piece.folder)
        return {"name": piece.name, "files": [str(f) for f in files]}
    settings = piece.settings
    found = tables_of(settings, play_with_bars(settings, piece.folder, workers))
    files = write_comparison(settings, found, piece.folder)
    if not as_json:
        print_comparison(settings, found)
    said = sentences(differences(found))
    return {"name": piece.name, "sentences": said, "files": [str(f) for f in files]}


def _collect(found: list[Piece], into: Path) -> list[dict[str, Any]]:
    """Copy the tables of what has been played, and draw them."""
    answers = []
    for piece in found:
        target = into / piece.profile / piece.study / piece.dataset
        try:
            labels = collect(piece.folder, target, piece.settings.compare)
        except ConfigError as error:
            say(f"{piece.name}: nothing to collect ({error})")
            continue
        derive(target)
        say(f"{piece.name}: {', '.join(labels)} in {target}")
        answers.append({"name": piece.name, "labels": labels, "folder": str(target)})
    return answers
