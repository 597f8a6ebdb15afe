"""What all tests have in common: random examples that are the same in every run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "same",
    deadline=None,  # the first example compiles kernels
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same")
