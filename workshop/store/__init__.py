"""What is kept: sessions, runs, events, artifacts, learners. Everybody else reads and writes through `Store`."""
