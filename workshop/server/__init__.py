"""The dashboard's server: one ASGI process with the door, live pages, artifacts and the Streamlit pages."""
