"""Streamlit's settings: the workshop's look, no word to anybody outside, nothing for developers."""

from __future__ import annotations

from typing import Any

from workshop.report.figures import theme

SETTINGS: dict[str, Any] = {
    "browser.gatherUsageStats": False,
    "server.headless": True,
    "server.showEmailPrompt": False,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.maxUploadSize": 64,  # MB, as much as an artifact can have
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "runner.magicEnabled": False,
    # A full garbage collection after every run of a page is 100 ms of CPU, five times what the page itself takes;
    # Python's own collections happen when there is something to collect.
    "runner.postScriptGC": False,
    "theme.base": "light",
    "theme.primaryColor": theme.ACCENT,
    "theme.backgroundColor": theme.PAPER,
    "theme.secondaryBackgroundColor": theme.PANEL,
    "theme.textColor": theme.INK,
    "theme.linkColor": theme.ACCENT,
    "theme.borderColor": theme.LINE,
    "theme.baseRadius": "0.5rem",
    "theme.showWidgetBorder": True,
    "theme.baseFontSize": 17,
    "theme.headingFontSizes": ["1.9rem", "1.5rem", "1.3rem", "1.12rem", "1.05rem", "1rem"],
    "theme.chartCategoricalColors": list(theme.RANKS),
    "logger.level": "warning",
}
