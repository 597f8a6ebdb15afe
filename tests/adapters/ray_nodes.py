"""
A Ray cluster of two nodes on this machine, one CPU each, for whoever started this program.

Prints its address; then each line that comes in kills the second node and starts another one.
"""

import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster

QUICK_TO_NOTICE = {"health_check_period_ms": 300, "health_check_failure_threshold": 3}

if __name__ == "__main__":
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "_system_config": QUICK_TO_NOTICE},
    )
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        print("replaced", flush=True)
    cluster.shutdown()
