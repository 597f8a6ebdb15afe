"""
The command ``fedroam``.

Exit code 0: did what was asked; 2: a mistake of the user's, told in one line; 1: a failure of ours
(a crash shows its traceback); 130: stopped by Ctrl-C. What was asked for goes to stdout, all else
to stderr. Everything heavy is imported inside the commands, so that ``--help`` is instant.
"""

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import click
import typer

CORES = os.cpu_count() or 1

app = typer.Typer(
    name="fedroam",
    help="Federated learning over mobile wireless networks: schedule, simulate, compare.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Sets = Annotated[
    Optional[list[str]],  # noqa: UP045  (typer reads it)
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Any value: rounds=20, world.users=9."),
]
Policy = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--policy", "-p", help="A policy's name, or module:Name of your own."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Out = Annotated[Optional[Path], typer.Option("--out", "-o", help="Folder to write.")]  # noqa: UP045
Workers = Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes; same results.")]
Cores = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--workers",
        "-w",
        min=1,
        help="Processes; same results. Default: one to run, all cores to compare, or the cluster.",
    ),
]
Engine = Annotated[
    str, typer.Option("--engine", metavar="local|ray", help="Who computes; same results.")
]
Address = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--address", help="A running Ray cluster: HOST:PORT or auto; default: a new one."),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Start no browser.")]
Level = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--certify", metavar="prices|exact", help="Bound every round's length."),
]


def main() -> None:
    """Run the command line; the one place where exceptions become exit codes."""
    from fedroam.errors import FedroamError, StorageError, WorkerError

    try:
        code = app(standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
            error.show()  # the help, as was asked for by saying nothing
        else:
            print(f"fedroam: {_in_one_line(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except FedroamError as error:
        if os.environ.get("FEDROAM_DEBUG"):
            raise
        print(f"fedroam: {error}", file=sys.stderr)
        sys.exit(1 if isinstance(error, (StorageError, WorkerError)) else 2)
    except BrokenPipeError:  # the reader of our output has gone, e.g. `fedroam list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _in_one_line(error: click.ClickException) -> str:
    """What is wrong with the words on the command line, and where the right ones are told."""
    context = getattr(error, "ctx", None)
    hint = f" ({context.command_path} --help)" if context else ""
    sentences = re.split(r"(?<=[.?])\s+", " ".join(error.format_message().split()))
    return " ".join(dict.fromkeys(sentences)) + hint  # two libraries may give the same advice


@app.callback(invoke_without_command=True)
def version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Federated learning over mobile wireless networks: schedule, simulate, compare."""
    if version:
        from importlib.metadata import version as version_of

        print(version_of("fedroam"))
        raise typer.Exit


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="Settings (TOML); a run folder has one.")],
    policy: Policy = None,
    sets: Sets = None,
    seed: Annotated[Optional[int], typer.Option(help="Seed of everything random.")] = None,  # noqa: UP045
    out: Out = None,
    workers: Cores = None,
    engine: Engine = "local",
    address: Address = None,
    certify: Level = None,
    json: Json = False,
) -> None:
    """Play one run into a folder. The same command again goes on where it was stopped."""
    from fedroam.cli.engines import engine_called
    from fedroam.cli.running import run_command

    where = engine_called(engine, address, workers)
    chosen = _assignments(sets, policy, seed, certify)
    run_command(config, chosen, out, workers or 1, where, as_json=json)


@app.command()
def compare(
    config: Annotated[Path, typer.Argument(help="Settings (TOML).")],
    policy: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--policy", "-p", help="A policy to compare (repeat); default: the paper's six."
        ),
    ] = None,
    seeds: Annotated[Optional[int], typer.Option(min=1, help="How many seeds.")] = None,  # noqa: UP045
    against: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The policy that all others are compared with; default: the first."),
    ] = None,
    sets: Sets = None,
    out: Out = None,
    workers: Cores = None,
    engine: Engine = "local",
    address: Address = None,
    certify: Level = None,
    json: Json = False,
) -> None:
    """Play several policies in the same worlds, under several seeds; tables and figures."""
    from fedroam.cli.comparing import compare_command
    from fedroam.cli.engines import engine_called

    where = engine_called(engine, address, workers)
    chosen = (*_assignments(sets, certify=certify), *_against(against))
    workers = workers or CORES
    compare_command(config, policy or [], seeds, chosen, out, workers, where, as_json=json)


@app.command()
def sweep(
    config: Annotated[Path, typer.Argument(help="Settings (TOML).")],
    over: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="KEY=V1,V2,...", help="A setting and its values (repeat: a grid)."),
    ] = None,
    policy: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--policy", "--policies", "-p", help="A policy to play at each point (repeat)."
        ),
    ] = None,
    seeds: Annotated[Optional[int], typer.Option(min=1, help="How many seeds.")] = None,  # noqa: UP045
    sets: Sets = None,
    out: Out = None,
    workers: Cores = None,
    engine: Engine = "local",
    address: Address = None,
    certify: Level = None,
    json: Json = False,
) -> None:
    """Play policies at every point of a grid over any settings; one tidy table, figures."""
    from fedroam.cli.engines import engine_called
    from fedroam.cli.sweeping import sweep_command

    where = engine_called(engine, address, workers)
    chosen, workers = _assignments(sets, certify=certify), workers or CORES
    sweep_command(
        config, over or [], policy or [], seeds, chosen, out, workers, where, as_json=json
    )


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="fig1, fig2, fig3, or all; sensitivity: threshold, payload, rho1, reading, rho2."
        ),
    ],
    profile: Annotated[
        str, typer.Option(metavar="quick|paper", help="A tenth of the data, or the paper's own.")
    ] = "quick",
    dataset: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--dataset", "-d", help="mnist, fashion-mnist, cifar10, or timing (learn nothing)."
        ),
    ] = None,
    seeds: Annotated[Optional[int], typer.Option(min=1, help="How many seeds.")] = None,  # noqa: UP045
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path(
        "runs/reproduce"
    ),
    workers: Workers = CORES,
    collect: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Play nothing; gather the tables of what lies in --out into this folder."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """
    The paper's experiments, from nothing to figures; goes on wherever it was stopped.

    NAME is fig1, fig2, fig3 or all, or one of threshold, payload, rho1, reading, rho2, which ask
    how much hangs on what the paper leaves open (sensitivity: all of these).
    """
    from fedroam.cli.reproducing import reproduce_command

    reproduce_command(name, profile, dataset or [], seeds, out, workers, collect, as_json=json)


@app.command()
def certify(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    level: Annotated[
        str, typer.Option(help="prices: a bound by duality, fast; exact: the optimum itself.")
    ] = "prices",
    json: Json = False,
) -> None:
    """Prove, round by round, how much shorter a finished run's rounds could have been."""
    from fedroam.cli.certifying import certify_command

    certify_command(run, level, as_json=json)


@app.command()
def view(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, side by side; or a comparison's folder.")
    ],
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", "-o", help="The page to write; default: view.html in the folder."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Follow a run that is still going, until Ctrl-C.")
    ] = False,
    rounds: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="FIRST:END", help="Only these rounds, of a long run."),
    ] = None,
    no_open: NoOpen = False,
    json: Json = False,
) -> None:
    """Watch runs: one page, self-contained, with map, schedules and curves under one clock."""
    from fedroam.cli.viewing import view_command

    view_command(runs, out, rounds, live=live, opens=not no_open, as_json=json)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A run's folder, or a comparison's.")],
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", "-o", help="The page to write; default: report.html in the folder."),
    ] = None,
    no_open: NoOpen = False,
    json: Json = False,
) -> None:
    """Sum up a run or a comparison: one page with tables, figures, and how to repeat it."""
    from fedroam.cli.viewing import report_command

    report_command(folder, out, opens=not no_open, as_json=json)


@app.command()
def solve(
    problem: Annotated[Path, typer.Argument(help="Problem file (.npz or .json).")],
    policy: Policy = "dagsa",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the policy's own draws.")] = 0,
    time_limit: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Seconds, for policies that take a limit."),
    ] = None,
    sets: Sets = None,
    certify: Annotated[
        str, typer.Option(metavar="prices|exact|no", help="How the bound is proven.")
    ] = "prices",
    sweep_selected: Annotated[
        bool,
        typer.Option("--sweep-selected", help="The shortest round for every number of users."),
    ] = False,
    out: Annotated[Optional[Path], typer.Option(help="Write the schedule to this .npz.")] = None,  # noqa: UP045
    json: Json = False,
) -> None:
    """Answer one problem: who trains, through which station, with how much bandwidth."""
    from fedroam.cli.solving import solve_command, sweep_command

    if sweep_selected:
        sweep_command(problem, seed, as_json=json)
        return
    solve_command(
        problem, policy or "dagsa", seed, time_limit, sets or [], certify, out, as_json=json
    )


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any free one.")] = 8642,
    workers: Annotated[int, typer.Option("--workers", "-w", help="Solver processes.")] = CORES,
    time_limit: Annotated[
        float, typer.Option(help="Seconds to wait for a solver, and again to solve.")
    ] = 10.0,
    max_mb: Annotated[float, typer.Option(help="Largest request.")] = 16.0,
    max_waiting: Annotated[int, typer.Option(help="Requests that may wait for a solver.")] = 256,
    policy: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--policy", "-p", help="module:Name of your own to offer as well (repeat)."),
    ] = None,
) -> None:
    """Answer problems over HTTP (POST /solve), for those who are not in Python."""
    from fedroam.adapters.serve import Serving
    from fedroam.cli.serving import serve_command

    serve_command(Serving(host, port, workers, time_limit, max_mb, max_waiting), policy or [])


@app.command(name="list")
def list_(
    family: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(help="policies, mobility, radio, datasets, models, ...; all by default."),
    ] = None,
    json: Json = False,
) -> None:
    """What can be named in settings, with options and what they mean."""
    from fedroam.cli.listing import list_command

    list_command(family, as_json=json)


data = typer.Typer(help="The real data sets: fetched once, verified, cached.", no_args_is_help=True)
app.add_typer(data, name="data")

Name = Annotated[Optional[str], typer.Argument(help="mnist, ...; all by default.")]  # noqa: UP045


@data.command("get")
def data_get(
    name: Name = None,
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Where files that you have downloaded lie."),
    ] = None,
    json: Json = False,
) -> None:
    """Make sure that a data set is at hand, and say where it came from."""
    from fedroam.cli.data import get_command

    get_command(name, folder, as_json=json)


@data.command("list")
def data_list(json: Json = False) -> None:
    """The built-in data sets, and which of them are at hand."""
    from fedroam.cli.data import list_command

    list_command(as_json=json)


@data.command("check")
def data_check(name: Name = None, json: Json = False) -> None:
    """Read every byte of what is cached and compare the checksums."""
    from fedroam.cli.data import check_command

    check_command(name, as_json=json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("demo"),
    workers: Workers = CORES,
    no_open: NoOpen = False,
    json: Json = False,
) -> None:
    """The paper's scenario under six policies: table, figures, and a page to watch them."""
    from fedroam.cli.demo import demo_command

    demo_command(out, workers, opens=not no_open, as_json=json)


def _against(label: str | None) -> tuple[str, ...]:
    return () if label is None else (f'compare.against="{label}"',)


def _assignments(
    sets: list[str] | None, policy: Any = None, seed: Any = None, certify: Any = None
) -> tuple[str, ...]:
    """Choices of plug-ins first: their options follow."""
    chosen = [f'policy="{policy}"'] if policy else []
    seeded = [f"seed={seed}"] if seed is not None else []
    level = [f'record.certify="{certify}"'] if certify else []
    return (*chosen, *seeded, *level, *(sets or ()))
