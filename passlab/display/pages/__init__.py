"""Views as HTML files that need neither kernel nor network."""
