"""The kit that passes are made of: rules, let binding, constant values, node typing. It imports no pass."""
