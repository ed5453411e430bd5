"""The heart: recordings of pipelines, what changed between programs, where nodes came from. Plain data, no markup."""
