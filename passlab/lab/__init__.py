"""The heart: recordings of pipelines, what changed between programs, where every node came from. Plain data, no markup."""
