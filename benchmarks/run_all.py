"""
All benchmarks, one after another; tables on the screen, files under ``docs/results/benchmarks``.

    python benchmarks/run_all.py [--quick]     (quick: minutes, files under benchmarks/out only)
"""

import subprocess
import sys

import side_by_side

SCRIPTS = (
    "rounds.py",
    "dagsa.py",
    "scale.py",
    "motion_radio.py",
    "trainers.py",
    "learning.py",
    "certified.py",
    "fairness.py",
    "pages.py",
    "shards.py",
    "gym.py",
    "on_ray.py",
    "flower_decision.py",
    "serve.py",
)


def main() -> None:
    failed = []
    for script in SCRIPTS:
        command = [sys.executable, side_by_side.HERE / script, *sys.argv[1:]]
        if subprocess.run(command, check=False).returncode:
            failed.append(script)
    if "--quick" not in sys.argv:
        subprocess.run([sys.executable, side_by_side.HERE / "tables.py"], check=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
