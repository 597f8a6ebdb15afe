"""``fedroam demo``: the paper's scenario on real MNIST, scaled down to minutes."""

from pathlib import Path

from fedroam.cli.compared import as_object, print_comparison
from fedroam.cli.comparing import play_with_bars, write_comparison
from fedroam.cli.screen import print_json, say
from fedroam.cli.viewing import show_in_browser, write_view
from fedroam.comparison import tables_of
from fedroam.learning import datasets
from fedroam.runs import parse

DEMO = {
    "name": "demo",
    "stop": {"time_s": 15.0},
    "evaluation": {"every_s": 0.5},
    "record": {"certify": "prices"},
    "learning": {
        "dataset": "mnist",
        "train_fraction": 0.1,
        "test_fraction": 0.3,
        "local": {"local_epochs": 5, "lr": 0.05},
    },
    "compare": {
        "policies": ["dagsa", "certified", "random", "uniform", "fedcs-high", "all"],
        "seeds": 3,
    },
}

NEXT = """\
what to try next:
  fedroam report {out}        tables and figures in one page; fedroam view shows it in motion
  fedroam run examples/paper_mnist.toml --workers 2 --set rounds=10        the paper's own setting
  fedroam compare examples/paper_timing.toml                               timing only: seconds
  fedroam compare examples/paper_timing_unequal.toml -p dagsa -p random    the same, unequal bands
  fedroam list                                                             all that can be named
  docs/extend.md                                                           your own policy"""


def demo_command(out: Path, workers: int, *, opens: bool, as_json: bool) -> None:
    """Play, print the table, write the figures and the page that replays it all."""
    settings = parse(DEMO)
    if settings.learning is not None:
        datasets.load(settings.learning.dataset.name)  # fetched once, before anything is played
    say(
        "50 users walk at 20 m/s among 8 stations and learn MNIST together (a tenth of it, 5 local"
        " epochs);\nsix policies have 15 simulated seconds each, under 3 seeds"
    )
    comparison = play_with_bars(settings, out, workers)
    tables = tables_of(settings, comparison)
    files = write_comparison(settings, tables, out)
    page, _ = write_view([out])
    if as_json:
        print_json(as_object(settings, comparison, tables, files) | {"page": str(page)})
        return
    print_comparison(settings, tables)
    for file in files:
        if file.suffix in (".png", ".csv"):
            say(f"wrote {file}")
    say(f"wrote {page}: watch all six policies side by side, in any browser")
    say(NEXT.format(out=out))
    if opens:
        show_in_browser(page.resolve().as_uri())
