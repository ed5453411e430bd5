"""The parts of `tvm.topi` that programs of Relay mention: `topi.testing`, and what reads shapes and paddings."""
