"""The dashboard's own pages, a module for each. `workshop.web.pages` names them in its extension."""
