"""Passes that make allocation, lifetimes and devices explicit for the virtual machine."""
