"""What is shown of a federation: verdict, panels and figures."""
