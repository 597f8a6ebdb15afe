"""
One step of motion and radio: users move, and every link's SNR or rate is known again.

Beside mobile-env 2.1 and CRRM 2.0.2, each in an environment of its own under ``benchmarks/.venvs``
(made on the first call) and in a process of its own. "Parts" are the calls of theirs that give the
same outputs as ours without fading (places, and one figure a link); "step" is what their users
call, and computes more. Neither draws fading, so ours is measured with and without.

    python benchmarks/motion_radio.py [--quick]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import side_by_side

SIZES = ((50, 8), (1000, 50))
NEEDS = {
    "mobile-env": ("mobile-env==2.1.0",),
    "crrm": ("CRRM==2.0.2", "scipy"),  # CRRM imports scipy without asking for it
}
CONTESTANTS = {
    # name: package, what is called, target, what else it computes
    "fedroam, no fading": ("fedroam", "none", "", "places, distance, rate of every link"),
    "fedroam": ("fedroam", "rayleigh", "", "the same with a Rayleigh draw for every link"),
    "mobile-env, parts": ("mobile-env", "parts", ">= 100x", "same outputs"),
    "mobile-env, step": (
        "mobile-env",
        "step",
        "",
        "also connections, shares, utilities, observations",
    ),
    "CRRM, parts": ("crrm", "parts", ">= 10x", "places, power of every link by a power law"),
    "CRRM, step": ("crrm", "step", "", "also attachment, SINR, CQI, MCS, throughput"),
    "CRRM, step, its UMa model": ("crrm", "uma", "", "the same with 3GPP path loss, its default"),
}


def fedroam_stepper(users: int, stations: int, fading: str) -> Callable[[], object]:
    from fedroam.mobility import RandomDirection
    from fedroam.radio import Reach, UrbanMacro
    from fedroam.streams import stream

    draw, mobility = partial(stream, 0, "mobility"), RandomDirection()
    radio = UrbanMacro(fading=fading)
    reach = Reach(stream(0, "stations").random((stations, 2)) * 1000.0)
    motion, round = mobility.start(users, 1000.0, draw), 0

    def step():
        nonlocal motion, round
        round += 1
        motion = mobility.advance(motion, 1000.0, 0.35 * round, round, draw)
        return reach.measure(radio, motion.position_m, 0, round)

    return step


def mobile_env_stepper(users: int, stations: int, is_whole: bool) -> Callable[[], object]:
    import numpy as np
    from mobile_env.core.base import MComCore
    from mobile_env.core.entities import BaseStation, UserEquipment

    rng, config = np.random.default_rng(0), MComCore.default_config()
    config |= {"width": 1000, "height": 1000, "EP_MAX_TIME": 10**9}
    config["arrival_params"]["ep_time"] = 10**9
    config["movement_params"] |= {"width": 1000, "height": 1000}
    places = rng.random((stations, 2)) * 1000
    env = MComCore(
        [BaseStation(i, tuple(place), **config["bs"]) for i, place in enumerate(places)],
        [UserEquipment(i, **config["ue"]) for i in range(users)],
        config,
    )
    env.reset()
    if is_whole:
        action = np.ones(users, int)  # everyone toggles the first station
        return lambda: env.step(action)

    def parts():
        for ue in env.active:
            ue.x, ue.y = env.movement.move(ue)
        return [
            env.channel.datarate(bs, ue, env.channel.snr(bs, ue))
            for ue in env.active
            for bs in env.stations.values()
        ]

    return parts


def crrm_stepper(users: int, stations: int, what: str) -> Callable[[], object]:
    import numpy as np
    from CRRM import Parameters, Simulator

    rng = np.random.default_rng(0)
    simulator = Simulator(
        Parameters(
            n_ues=users,
            n_cell_locations=stations,
            cell_locations=np.c_[rng.random((stations, 2)) * 1000, np.full(stations, 20.0)],
            ue_initial_locations=np.c_[rng.random((users, 2)) * 1000, np.full(users, 1.5)],
            pathloss_model_name="UMa" if what == "uma" else "power-law",
            pathloss_exponent=3.76,
        )
    )
    everyone = list(range(users))

    def step():
        angle = rng.random(users) * 2 * np.pi
        deltas = 7.0 * np.c_[np.cos(angle), np.sin(angle), np.zeros(users)]
        simulator.move_ue_locations(everyone, deltas)
        return simulator.rsrp.update() if what == "parts" else simulator.get_UE_throughputs()

    return step


def play(package: str, what: str, users: int, stations: int, budget_s: float) -> list[float]:
    """Seconds of single steps."""
    match package:
        case "fedroam":
            step = fedroam_stepper(users, stations, what)
        case "mobile-env":
            step = mobile_env_stepper(users, stations, what == "step")
        case _:
            step = crrm_stepper(users, stations, what)
    step()  # compiles, or fills caches
    times_s, end_s = [], time.perf_counter() + budget_s
    while not times_s or time.perf_counter() < end_s:
        begin_s = time.perf_counter()
        step()
        times_s.append(time.perf_counter() - begin_s)
    return times_s


def python_of(package: str) -> str:
    """The interpreter of the package's environment, which is made if it is not there."""
    if package == "fedroam":
        return sys.executable
    folder = side_by_side.HERE / ".venvs" / package
    python, stamp = folder / "bin" / "python", folder / ".installed"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDS[package]], check=True)
        stamp.touch()
    return str(python)


def in_process(*arguments: object) -> list[float]:
    """The median of one process's steps."""
    command = [python_of(str(arguments[0])), __file__, "--play", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{arguments} failed:\n{done.stderr[-2000:]}")
    return [statistics.median(json.loads(done.stdout.splitlines()[-1]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--play", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        package, what, users, stations, budget_s = given.play
        print(json.dumps(play(package, what, int(users), int(stations), float(budget_s))))
        return
    before, rows = side_by_side.machine(), []
    for users, stations in SIZES:
        budget_s = 0.3 if given.quick else 1.0
        contestants = {
            name: partial(in_process, package, what, users, stations, budget_s)
            for name, (package, what, _, _) in CONTESTANTS.items()
        }
        times = side_by_side.alternate(contestants, 1 if given.quick else 3)
        for name, (_, _, target, note) in CONTESTANTS.items():
            what = f"motion and radio, {users} x {stations}"
            rows.append(side_by_side.row(what, name, times[name], target, note))
    extra = {"others": {package: list(needs) for package, needs in NEEDS.items()}}
    side_by_side.report("motion_radio", rows, before=before, extra=extra, is_kept=not given.quick)


if __name__ == "__main__":
    main()
