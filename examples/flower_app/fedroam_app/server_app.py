"""What runs at the server: ``Scheduled(FedAvg())`` in the place of ``FedAvg()``."""

from pathlib import Path

from flwr.app import ArrayRecord, MetricRecord
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

from fedroam import Fairness, Scenario, World
from fedroam.adapters.flower import Deadline, Measured, Scheduled
from fedroam_app.task import data_of, initial, loss_and_shares

app = ServerApp()


@app.main()
def main(grid, context):
    config = context.run_config
    fairness = Fairness(rho2=config["share"])
    strategy = Scheduled(
        FedAvg(fraction_evaluate=0.0, min_available_nodes=config["nodes"]),
        policy=config["policy"],
        world=Measured(fairness=fairness)
        if config["world"] == "measured"
        else Scenario(World(users=config["nodes"], stations=2), fairness=fairness),
        deadline=Deadline(scale=config["deadline-scale"], floor_s=config["deadline-floor"]),
        seed=config["seed"],
        record=Path(config["record"]) if config["record"] else None,
    )
    strategy.start(
        grid,
        ArrayRecord(initial()),
        num_rounds=config["num-server-rounds"],
        evaluate_fn=accuracy,
    )


def accuracy(server_round, arrays):
    """On points of a user that nobody is."""
    x, labels = data_of(10**6, 1000)
    loss, share = loss_and_shares(arrays.to_numpy_ndarrays(), x, labels)
    return MetricRecord({"loss": loss, "accuracy": float((share.argmax(1) == labels).mean())})
