"""A Flower app whose users are chosen by fedroam."""
