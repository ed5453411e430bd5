"""The operators of PyTorch that Relay has, or that are made of those it has, in families."""
