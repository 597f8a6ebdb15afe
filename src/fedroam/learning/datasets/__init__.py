"""
Data sets: fetched once, verified, and cached as arrays that processes share by memory map.

A new one is one file that holds a ``Published`` record (mostly data), and one line in ``DATASETS``.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter

from fedroam.learning.datasets import cache
from fedroam.learning.datasets.cifar10 import cifar10
from fedroam.learning.datasets.fashion_mnist import fashion_mnist
from fedroam.learning.datasets.mnist import mnist
from fedroam.learning.datasets.published import Checked, Got, Listed, Published, Recipe
from fedroam.learning.datasets.synthetic import Synthetic
from fedroam.learning.records import Dataset
from fedroam.plugins import resolve

DATASETS: Mapping[str, Callable[..., Recipe]] = {
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "cifar10": cifar10,
    "synthetic": Synthetic,
}

__all__ = [
    "DATASETS",
    "Checked",
    "Got",
    "Listed",
    "Published",
    "Recipe",
    "Synthetic",
    "check",
    "get",
    "listing",
    "load",
    "recipe",
]


def recipe(dataset: str | Recipe) -> Recipe:
    """The recipe that ``dataset`` names, or ``dataset`` itself."""
    if not isinstance(dataset, str):
        return dataset
    made: Recipe = resolve("dataset", dataset, DATASETS)()
    return made


def load(dataset: str | Recipe, folder: str | Path | None = None) -> Dataset:
    """
    The data set, from the cache where it is there and whole, else fetched and verified.

    ``folder`` may hold the downloaded files; the error met offline says which ones they are.
    """
    return recipe(dataset).load(folder)


def get(dataset: str | Recipe, folder: str | Path | None = None) -> Got:
    """Make sure that the data set is at hand; says where it is and where it came from."""
    chosen, start = recipe(dataset), perf_counter()
    if isinstance(chosen, Published):
        source, place = chosen.ensure(folder)
        at: str | None = str(place)
    else:
        source, at = "made on the spot", None
    data = chosen.load(folder)
    return Got(
        name=chosen.name,
        source=source,
        folder=at,
        n_train=len(data.train_y),
        n_test=len(data.test_y),
        n_bytes=sum(a.nbytes for a in (data.train_x, data.train_y, data.test_x, data.test_y)),
        wall_s=perf_counter() - start,
    )


def check(dataset: str | Recipe) -> Checked:
    """Read every byte of the cached data set and compare the checksums; changes nothing."""
    chosen = recipe(dataset)
    if isinstance(chosen, Published):
        return chosen.check()
    chosen.load(None)
    return Checked(chosen.name, True, "made on the spot, nothing is stored", None)


def listing() -> tuple[Listed, ...]:
    """The built-in data sets, and whether each of them is at hand."""
    return tuple(make().listed() for make in DATASETS.values())


def data_home() -> Path:
    """The folder that holds all cached data sets: ``$FEDROAM_DATA``, else the user's cache."""
    return cache.home()
