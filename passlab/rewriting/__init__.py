"""The kit that passes are built from: rules, let binding, constant values, node typing. It imports no pass."""
