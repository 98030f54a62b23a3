"""Verdict, panels and figures of a federation."""
