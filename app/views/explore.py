"""Explore: a card for each tool, with its picture."""

from __future__ import annotations

import base64

import streamlit as st

from workshop import registry
from workshop.web.pages import blocks, frame
from workshop.web.templates import render

ABREAST = 3  # cards


def page() -> None:
    identity = frame.heading("Explore")
    tools = [page for page in registry.pages() if page.group == "explore" and identity.role in page.roles]
    for column, tool in blocks.abreast([tool for tool in tools if tool.name != "explore"], ABREAST):
        with column, st.container(border=True, height="stretch", key=f"tool-{tool.name}"):
            if tool.picture is not None:
                image = base64.b64encode(tool.picture.read_bytes()).decode()
                st.html(render("dashboard/tool", image=image))
            frame.link(tool.name, f"**{frame.plain(tool.title)}**", f":material/{tool.icon}:")
            if tool.summary:
                st.markdown(frame.plain(tool.summary))
