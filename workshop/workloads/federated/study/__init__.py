"""Studies of the three ways of learning, side by side, with several seeds."""
