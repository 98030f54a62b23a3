"""A deck gone through live with a class: how far it is, what answers are worth, who leads. Pure functions; the rooms
in which it happens are in `workshop.server.quiz`."""
