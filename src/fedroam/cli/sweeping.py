"""``fedroam sweep``."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fedroam.cli.comparing import table_of
from fedroam.cli.engines import Elsewhere, Where
from fedroam.cli.running import say_size, stop_like_ctrl_c
from fedroam.cli.screen import print_json, print_table, say
from fedroam.cli.watching import watching
from fedroam.comparison import (
    Cell,
    Member,
    SweepTables,
    begin_sweep,
    cells_of,
    grid,
    open_sweep,
    play_sweep,
    sweep_tables_of,
    write_sweep_tables,
)
from fedroam.comparison.sweep_tables import word_of
from fedroam.errors import ConfigError
from fedroam.plots import KINDS, draw_sweep
from fedroam.runs import RunFolder
from fedroam.runs.folder import told

SHOWN = ("mean_round_s", "users_per_round", "forced_per_round", "missed_per_round")


def sweep_command(
    config: Path,
    over: list[str],
    policies: list[str],
    seeds: int | None,
    assignments: tuple[str, ...],
    out: Path | None,
    workers: int,
    where: Where,
    *,
    as_json: bool,
) -> None:
    """Play a comparison at every point of the grid, show the table."""
    table = table_of(config, policies, seeds, assignments)
    if not over:
        raise ConfigError("over: nothing to sweep, expected --over key=value,value,...")
    points = grid(table, over)
    if policies and any(path.partition(".")[0] == "policy" for path in points[0]):
        raise ConfigError("over: policy is swept, so --policy cannot be given too")
    folder = out or Path("runs") / f"{config.stem}-sweep"
    cells = cells_of(table, points, folder)
    begin_sweep(cells, folder)
    play_cells(cells, folder, workers, where=where)
    tables = sweep_tables_of(open_sweep(folder))
    files = write_sweep(tables, folder)
    if as_json:
        print_json(as_object(tables, files))
    else:
        print_sweep(tables, folder)


def play_cells(
    cells: list[Cell],
    folder: Path,
    workers: int,
    title: str = "sweep",
    where: Where | None = None,
) -> None:
    """Play all runs of all points and show how far they are."""
    rows = {_row(row[0], folder): row for cell in cells for row in cell.members()}
    stop_like_ctrl_c()
    played = [m for row in rows.values() for m in row if RunFolder(m.folder).is_complete]
    say_size(cells[0].settings, sum(map(len, rows.values())) - len(played))
    try:
        with (
            where or nullcontext(Elsewhere()) as elsewhere,
            watching(title, {name: len(row) for name, row in rows.items()}) as board,
        ):
            for member in played:
                board.skip(_row(member, folder), member.settings.seed)
            play_sweep(
                cells,
                workers,
                lambda m, p: board.show(_row(m, folder), p, m.settings.seed),
                elsewhere.play_parts,
            )
    except KeyboardInterrupt:
        say(f"fedroam: stopped; what has been played is in {folder}; the same command goes on")
        raise typer.Exit(130) from None


def _row(member: Member, folder: Path) -> str:
    """A point and a policy: ``speed_m_s=20/dagsa``."""
    return member.folder.parent.relative_to(folder).as_posix()


def write_sweep(tables: SweepTables, folder: Path, kinds: tuple[str, ...] = KINDS) -> list[Path]:
    """The tidy tables (CSV and Parquet) and the figures."""
    files = write_sweep_tables(tables, folder)
    with told(folder):
        return [*draw_sweep(tables, folder, kinds=kinds), *files]


def print_sweep(tables: SweepTables, folder: Path) -> None:
    """A row for each point and policy, and how to go on from here."""
    shown = list(SHOWN)
    if tables.has_learnt:
        shown += ["accuracy"]
    rows = []
    for point, at in zip(tables.points, tables.tables, strict=True):
        for label in at.labels:
            cells = [f"{np.mean(at.values(label, m)):.3g}" for m in shown]
            rows.append((*(word_of(value) for value in point.values()), label, *cells))
    header = (*(key.rpartition(".")[2] for key in tables.keys), "policy", *shown)
    n_seeds = tables.tables[0].values(tables.tables[0].labels[0], "seed").size
    print_table(f"{len(tables.points)} points, {n_seeds} seeds: means", header, rows)
    say("under one seed all points and policies draw from the same streams of random numbers")
    say(f'pandas.read_parquet("{folder / "sweep.parquet"}") has a row a point, policy and seed')


def as_object(tables: SweepTables, files: list[Path]) -> dict[str, Any]:
    """The sweep as one JSON object."""
    rows = []
    for point, at in zip(tables.points, tables.tables, strict=True):
        for label in at.labels:
            measures = {
                name: at.values(label, name).tolist()
                for name in at.comparison.column_names
                if name not in ("label", "policy") and not name.endswith("sha256")
            }
            rows.append({"point": point, "label": label, "per_seed": measures})
    return {"keys": tables.keys, "rows": rows, "files": [str(file) for file in files]}
