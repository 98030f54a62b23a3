"""The dashboard: this file only shows the navigation. Served by `python -m workshop.server`."""

from workshop.pages import frame, navigation

frame.set_up()
navigation.navigate(root="home")
