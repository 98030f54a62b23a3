"""Live rounds of a quiz: pages, sockets, and the rooms behind them. What a round is, is in `workshop.quiz.live`."""
