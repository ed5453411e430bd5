"""Other pipelines than the one that ran: passes skipped, moved, repeated, in all orders, or not yet run."""
