"""Three ways to learn from what several institutions have, side by side, with several seeds."""
