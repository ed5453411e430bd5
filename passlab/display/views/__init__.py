"""The views: each file shows one kind of value as text, HTML, data for a widget, and a data frame."""
