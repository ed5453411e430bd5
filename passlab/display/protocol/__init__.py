"""What Python and the scripts of the views say to each other: the data of each view, and every message.

A class derived from `NamedTuple` is an array in JSON, a `TypedDict` an object. `make bless` writes the same shapes for
the scripts into `web/protocol.d.ts`, against which `tsc` checks them; tests hold every view and widget to them.
"""
