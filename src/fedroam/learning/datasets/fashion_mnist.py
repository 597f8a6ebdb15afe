"""FashionMNIST: 70,000 articles of clothing, 28 x 28 grey pixels (Xiao, Rasul, Vollgraf 2017)."""

from fedroam.learning.datasets.layouts import Idx
from fedroam.learning.datasets.mnist import FILES
from fedroam.learning.datasets.published import Published
from fedroam.learning.datasets.sources import DebianPackage, Download


def fashion_mnist() -> Published:
    """How to get and verify FashionMNIST."""
    archived = tuple(f"{name}.gz" for name in FILES)
    return Published(
        name="fashion-mnist",
        title="FashionMNIST articles of clothing",
        n_classes=10,
        image=(1, 28, 28),
        n_train=60_000,
        n_test=10_000,
        sha256=(
            "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
            "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
            "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
            "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
        ),
        layouts=(Idx(*FILES),),
        sources=(
            Download("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", archived),
            DebianPackage("dataset-fashion-mnist"),
        ),
    )
