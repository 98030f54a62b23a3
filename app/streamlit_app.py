"""The dashboard: this file only shows the navigation. Served by `python -m workshop.web.server`."""

from workshop.web.pages import frame, navigation

frame.set_up()
navigation.navigate(root="home")
