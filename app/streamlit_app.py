"""The dashboard: this file only declares its own pages. Served by `python -m workshop.server`."""

from workshop.extension import Page
from workshop.pages import frame, navigation


def own(name: str, title: str, icon: str, order: int) -> Page:
    """A page of the dashboard itself, which is drawn by a file."""
    return Page(name, title, icon, function="", order=order)


frame.set_up()
navigation.navigate(
    {
        "views/home.py": own("welcome", "Welcome", "home", 100),
        "views/session.py": own("session", "Session", "memory", 150),
        "views/run.py": own("run", "Run", "play_circle", 250),
        "views/studies.py": own("studies", "Studies", "ssid_chart", 300),
        "views/quizzes.py": own("quizzes", "Quizzes", "quiz", 600),
        "views/progress.py": own("progress", "Class", "groups", 700),
        "views/history.py": own("history", "History", "history", 800),
    }
)
