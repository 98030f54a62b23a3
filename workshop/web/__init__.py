"""The dashboard's server: who may come in, and what is pushed to those who watch."""
