"""What is shown of a run, a study or a session, for every front end: snapshots, verdicts, cards, figures."""
