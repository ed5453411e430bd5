"""The stepping engine that keeps a log, from which any instant comes back."""
