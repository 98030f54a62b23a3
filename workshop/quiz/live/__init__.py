"""Live rounds with a class: their states, points and rankings, as pure functions. The rooms are in
`workshop.web.quiz`."""
