"""Decks as Moodle GIFT, in and out."""
