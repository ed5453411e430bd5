"""PyTorch's operators in terms of Relay's, in families."""
