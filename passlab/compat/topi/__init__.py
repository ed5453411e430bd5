"""The parts of `tvm.topi` that programs of Relay use: `topi.testing`, and the functions on shapes and paddings."""
