"""``fedroam data``."""

from dataclasses import asdict
from pathlib import Path

import typer

from fedroam.cli.screen import print_json, print_table, say
from fedroam.errors import ConfigError, nearest
from fedroam.learning import datasets


def get_command(name: str | None, folder: Path | None, *, as_json: bool) -> None:
    """Fetch one data set, or all."""
    got = [datasets.get(each, folder) for each in _names(name)]
    if as_json:
        print_json({g.name: asdict(g) for g in got})
        return
    for g in got:
        where = f" in {g.folder}" if g.folder else ""
        size = f"{g.n_bytes / 2**20:.0f} MiB"
        say(f"{g.name}: {g.n_train} + {g.n_test} images, {size}{where} ({g.source})")


def list_command(*, as_json: bool) -> None:
    """All data sets."""
    listed = datasets.listing()
    if as_json:
        print_json({item.name: asdict(item) for item in listed})
        return
    rows = [
        (
            item.name,
            item.title,
            f"{item.n_train:,} + {item.n_test:,}",
            "x".join(map(str, item.image)),
            "ready" if item.is_ready else "to be fetched",
        )
        for item in listed
    ]
    print_table("", ("name", "what it is", "images", "size", ""), rows)


def check_command(name: str | None, *, as_json: bool) -> None:
    """Compare the checksums; exit code 1 where a cached data set is damaged."""
    checked = [datasets.check(each) for each in _names(name)]
    if as_json:
        print_json({c.name: asdict(c) for c in checked})
    else:
        for c in checked:
            say(f"{c.name}: {c.message}")
    if not all(c.is_whole for c in checked):
        raise typer.Exit(1)


def _names(name: str | None) -> list[str]:
    if name is None:
        return list(datasets.DATASETS)
    if name not in datasets.DATASETS:
        raise ConfigError(f"dataset: no {name!r}; {nearest(name, datasets.DATASETS)}")
    return [name]
