"""Tables of comparisons that nobody played, with known answers."""

import numpy as np
import pyarrow as pa

from fedroam.comparison import Tables

HORIZON_S = 10.0


def tables(times_s, *, horizon_s=HORIZON_S, mean_round_s=None, mark="time_to_90_s"):
    """Tables in which ``label`` reaches the mark at ``times_s[label]``; None: never."""
    rows, curves, lengths = [], [], []
    for label, times in times_s.items():
        for seed, time_s in enumerate(times):
            rows.append(
                {
                    "label": label,
                    "seed": seed,
                    "rounds": 20,
                    "time_s": horizon_s + 0.5,
                    "mean_round_s": (mean_round_s or {}).get(label, 0.5),
                    "min_participation": 0.2,
                    "accuracy": 0.9,
                    "horizon_s": horizon_s,
                    mark: time_s,
                    "accuracy_at_5_s": 0.5,
                }
            )
            grid_s = np.linspace(0, horizon_s, 11)
            accuracy = np.where(grid_s < 1, np.nan, np.minimum(0.95, 0.1 * grid_s))
            curves.append(
                pa.table(
                    {
                        "label": [label] * 11,
                        "seed": [seed] * 11,
                        "time_s": grid_s,
                        "accuracy": pa.array(accuracy, from_pandas=True),
                        "rounds": np.arange(11) * 2,
                        "updates": np.arange(11) * 50,
                    }
                )
            )
        lengths.append(
            pa.table(
                {
                    "label": [label] * 101,
                    "percentile": np.arange(101),
                    "length_s": np.linspace(0.2, 0.8, 101),
                }
            )
        )
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    return Tables(pa.table(columns), pa.concat_tables(curves), pa.concat_tables(lengths))
