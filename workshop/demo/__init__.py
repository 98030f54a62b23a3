"""Several hosts on one machine, for learners who have one, and for tests."""
