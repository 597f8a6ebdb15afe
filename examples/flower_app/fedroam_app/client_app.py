"""What runs on every node: ``reporting_app()`` in the place of ``ClientApp()``."""

import time

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

from fedroam.adapters.flower import reporting_app
from fedroam_app.task import data_of, trained


def measure(context):
    """What this device knows of its link. A phone would ask its modem; here the node was told."""
    told = ("snr_db", "x_m", "y_m", "upload_s", "upload_bit")
    return {name: context.node_config[name] for name in told if name in context.node_config}


app = reporting_app(measure=measure)


@app.train()
def train(message, context):
    time.sleep(context.run_config["pause"])
    x, labels = data_of(int(context.node_config["partition-id"]))
    weights, loss = trained(
        message.content["arrays"].to_numpy_ndarrays(),
        x,
        labels,
        context.run_config["lr"],
        context.run_config["local-epochs"],
    )
    metrics = MetricRecord({"num-examples": labels.size, "train_loss": loss})
    content = {"arrays": ArrayRecord(weights), "metrics": metrics}
    return Message(RecordDict(content), reply_to=message)
