"""``fedroam compare``."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from fedroam.cli.compared import as_object, print_comparison
from fedroam.cli.engines import Elsewhere, Where
from fedroam.cli.running import say_size, stop_like_ctrl_c
from fedroam.cli.screen import print_json, say
from fedroam.cli.watching import watching
from fedroam.comparison import (
    Comparison,
    Tables,
    begin_comparison,
    differences,
    differences_table,
    members_of,
    play_all,
    tables_of,
    write_tables,
)
from fedroam.comparison.tables import write_table
from fedroam.plots import KINDS, draw_comparison
from fedroam.runs import RunFolder, Settings, parse
from fedroam.runs.folder import told
from fedroam.runs.settings import assign, read_table


def compare_command(
    config: Path,
    policies: list[str],
    seeds: int | None,
    assignments: tuple[str, ...],
    out: Path | None,
    workers: int,
    where: Where,
    *,
    as_json: bool,
) -> None:
    """Read the settings, play the members, show the comparison."""
    settings = parse(table_of(config, policies, seeds, assignments))
    folder = out or Path("runs") / f"{config.stem}-compare"
    comparison = play_with_bars(settings, folder, workers, where)
    tables = tables_of(settings, comparison)
    files = write_comparison(settings, tables, folder)
    if as_json:
        print_json(as_object(settings, comparison, tables, files))
    else:
        print_comparison(settings, tables)
        for file in files:
            if file.suffix in (".png", ".csv"):
                say(f"wrote {file}")


def table_of(
    config: Path, policies: list[str], seeds: int | None, assignments: tuple[str, ...]
) -> dict[str, Any]:
    """The settings in ``config`` as a table, with what the command line says instead."""
    table = read_table(config)
    if policies:
        assign(table, f"compare.policies={json.dumps(policies)}")
        table["compare"].pop("labels", None)
    if seeds is not None:
        assign(table, f"compare.seeds={seeds}")
    for assignment in assignments:
        assign(table, assignment)
    return table


def play_with_bars(
    settings: Settings, folder: Path, workers: int, where: Where | None = None
) -> Comparison:
    """Play all members with a bar for each policy."""
    members = members_of(settings, folder)
    begin_comparison(settings, members, folder)
    stop_like_ctrl_c()
    played = [m for row in members for m in row if RunFolder(m.folder).is_complete]
    say_size(settings, sum(map(len, members)) - len(played))
    try:
        with (
            where or nullcontext(Elsewhere()) as elsewhere,
            watching(settings.name, {row[0].label: len(row) for row in members}) as board,
        ):
            for member in played:
                board.skip(member.label, member.settings.seed)
            return play_all(
                members,
                workers,
                lambda m, p: board.show(m.label, p, m.settings.seed),
                elsewhere.play_parts,
            )
    except KeyboardInterrupt:
        say(f"fedroam: stopped; what has been played is in {folder}; the same command goes on")
        raise typer.Exit(130) from None


def write_comparison(
    settings: Settings, tables: Tables, folder: Path, kinds: tuple[str, ...] = KINDS
) -> list[Path]:
    """The tidy tables (CSV and Parquet), the paired differences, and the figures."""
    against = settings.compare.against
    found = differences_table(differences(tables, against))
    files = [*write_tables(tables, folder), *write_table(found, folder / "paired")]
    with told(folder):
        figures = draw_comparison(
            tables, folder, rho1=settings.fairness.rho1, against=against, kinds=kinds
        )
    return [*figures, *files]
