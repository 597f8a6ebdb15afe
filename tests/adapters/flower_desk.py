"""A Flower grid whose nodes are in this process, and do what they are told."""

import itertools
import random
import time
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ArrayRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from fedroam.adapters.flower import reporting_app

SHAPE = (3, 2)


def weights(value: float = 0.0) -> ArrayRecord:
    """A model whose numbers are all the same."""
    return ArrayRecord([np.full(SHAPE, value, np.float64)])


def update(message, value: float, n: float = 10, **metrics) -> Message:
    """What a sound node sends back."""
    content = {"arrays": weights(value), "metrics": MetricRecord({"num-examples": n, **metrics})}
    return Message(RecordDict(content), reply_to=message)


def app_of(train, measure=None):
    """A reporting client app."""
    app = reporting_app(measure=measure)
    app.train()(train)

    @app.evaluate()
    def evaluate(message, context):
        metrics = MetricRecord({"num-examples": 1, "who": float(context.node_config["user"])})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


@dataclass
class Node:
    """One node: by default it adds its user's number to the model, at once."""

    name: object
    app: object = None
    delay_s: float = 0.0  # until its update comes in
    is_silent: bool = False  # what it is sent meanwhile is lost
    is_connected: bool = True
    leaves_at: int = 0  # the round in which it is lost while it trains
    trained: list[int] = field(default_factory=list)  # rounds that it was asked to train in
    orders: list[dict] = field(default_factory=list)
    state: RecordDict = field(default_factory=RecordDict)

    def answer(self, node_id, message):
        """As Flower's client process does it."""
        config = {"user": self.name}
        context = Context(1, node_id, config, self.state, {})
        try:
            return (self.app or app_of(self._train))(message, context)
        except Exception as error:
            reason = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, repr(error))
            return Message(reason, reply_to=message)

    def _train(self, message, context):
        value = float(message.content["arrays"].to_numpy_ndarrays()[0].mean())
        return update(message, value + float(self.name) + 1, loss=0.5)


class Desk(Grid):
    """Replies come in when they are due and somebody looks."""

    def __init__(self, nodes) -> None:
        self._ids = itertools.count(random.SystemRandom().randrange(1 << 20, 1 << 60), 7919)
        self.nodes = {next(self._ids): node for node in nodes}
        self._messages: dict[str, tuple[Message, float]] = {}
        self._n_sent = 0

    def join(self, node) -> None:
        """Under an id that was never there before."""
        self.nodes[next(self._ids)] = node

    def wait_for_late_ones(self) -> None:
        """Until everybody who is asked something could have answered."""
        due_s = max((due_s for _, due_s in self._messages.values()), default=0.0)
        time.sleep(max(0.0, due_s - time.monotonic()))

    @property
    def run(self):
        """There is none."""
        return None

    def set_run(self, run):
        """Nothing to do."""

    def create_message(self, *args, **kwargs):
        """Gone from Flower's own interface, but abstract."""
        raise NotImplementedError

    def get_node_ids(self):
        """In no order that could be relied on."""
        found = [node_id for node_id, node in self.nodes.items() if node.is_connected]
        random.SystemRandom().shuffle(found)
        return found

    def push_messages(self, messages):
        """Take them."""
        ids = []
        for message in messages:
            self._n_sent += 1
            message.metadata.__dict__["_message_id"] = f"m{self._n_sent}"
            node = self.nodes[message.metadata.dst_node_id]
            is_training = message.metadata.message_type == "train"
            if is_training:
                node.trained.append(int(message.content["config"]["server-round"]))
                node.is_connected = node.trained[-1] != node.leaves_at
                if "fedroam.order" in message.content:
                    node.orders.append(dict(message.content["fedroam.order"]))
            wait_s = np.inf if node.is_silent else node.delay_s if is_training else 0.0
            self._messages[f"m{self._n_sent}"] = message, time.monotonic() + wait_s
            ids.append(f"m{self._n_sent}")
        return ids

    def pull_messages(self, message_ids):
        """What has come in by now, in no order that could be relied on."""
        found = []
        for sent in message_ids:
            message, due_s = self._messages[sent]
            node = self.nodes[message.metadata.dst_node_id]
            if not node.is_connected:
                lost = Error(ErrorCode.NODE_UNAVAILABLE, "Node unavailable")
                found.append(Message(lost, reply_to=message))
            elif time.monotonic() >= due_s:
                found.append(node.answer(message.metadata.dst_node_id, message))
        for reply in found:
            del self._messages[reply.metadata.reply_to_message_id]
        random.SystemRandom().shuffle(found)
        return found

    def send_and_receive(self, messages, *, timeout=None):
        """Flower's own way, without a deadline of fedroam's."""
        sent = set(self.push_messages(messages))
        replies, end_s = [], time.monotonic() + (timeout or 60)
        while sent and time.monotonic() < end_s:
            for reply in self.pull_messages(sent):
                replies.append(reply)
                sent.discard(reply.metadata.reply_to_message_id)
            time.sleep(0.01)
        return replies
