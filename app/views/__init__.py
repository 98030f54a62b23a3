"""The dashboard's own pages, a module for each. `workshop.pages` names them in its extension."""
