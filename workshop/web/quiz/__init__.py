"""Live rounds of a quiz: pages, sockets, and the rooms behind them. `workshop.quiz.live` defines a round."""
