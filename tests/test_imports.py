"""What is public, and what importing it costs."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import fedroam

HEAVY = (
    "numba",
    "scipy",
    "matplotlib",
    "pyarrow",
    "torch",
    "highspy",
    "llvmlite",
    "safetensors",
    "gymnasium",
)


def loaded_by(program):
    """Which heavy packages a program has loaded when it ends."""
    listing = (
        "import atexit, sys\n"
        "def tell():\n"
        f"    print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)\n"
        "atexit.register(tell)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", listing + program], capture_output=True, text=True, check=True
    )
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "program",
    [
        "import fedroam",
        "import fedroam; dir(fedroam); fedroam.__version__",
        "import sys; sys.argv = ['fedroam', '--help']; from fedroam.cli import main; main()",
        "import sys; sys.argv = ['fedroam', 'run', '--help']; from fedroam.cli import main; main()",
        "import sys; sys.argv = ['fedroam', '--version']; from fedroam.cli import main; main()",
    ],
    ids=["import", "dir", "help", "run help", "version"],
)
def test_the_package_and_its_help_load_nothing_heavy(program):
    """Compilers, plots and solvers are loaded where they are used."""
    assert loaded_by(program) == "[]"


def test_importing_the_package_does_not_even_read_its_version():
    """importlib.metadata would take most of the time that ``import fedroam`` takes."""
    program = (
        "import sys, fedroam\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "print(fedroam.__version__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == version("fedroam")


def test_the_public_names_are_sorted_few_and_all_there():
    """One screen of names, each of which can be imported."""
    assert fedroam.__all__ == sorted(set(fedroam.__all__))
    assert len(fedroam.__all__) <= 50
    for name in fedroam.__all__:
        assert getattr(fedroam, name) is not None
        assert name in dir(fedroam)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = fedroam.Nothing


def test_the_import_directions_hold():
    """Pyproject's layers: dependencies point one way."""
    program = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
