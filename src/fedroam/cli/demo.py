"""``fedroam demo``: the paper's scenario, six policies, one minute."""

from pathlib import Path

from fedroam.cli.comparing import as_object, play_with_bars, print_comparison, write_comparison
from fedroam.cli.screen import print_json, say
from fedroam.runs import parse

NEXT = """\
what to try next:
  fedroam run examples/paper_timing.toml --policy fedcs-high       one run, in runs/paper_timing
  fedroam compare examples/paper_timing.toml -p dagsa -p random --set band_spread=0.5
  fedroam compare examples/paper_timing.toml --set speed_m_s=0     nobody moves
  fedroam list                                                     policies, mobility, radio
  docs/extend.md                                                   your own policy in one file"""


def demo_command(out: Path, workers: int, *, as_json: bool) -> None:
    """Play, print the table, write the figure."""
    settings = parse({"name": "demo", "stop": {"rounds": 200}, "compare": {"seeds": 5}})
    say("50 users walk at 20 m/s among 8 stations; six policies play 200 rounds under 5 seeds")
    comparison = play_with_bars(settings, out, workers)
    files = write_comparison(comparison, out)
    if as_json:
        print_json(as_object(settings, comparison, files))
        return
    print_comparison(settings, comparison)
    say(f"figure: {out / 'round-lengths.png'}, table: {out / 'comparison.csv'}")
    say(NEXT)
