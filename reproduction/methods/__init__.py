"""Methods that build plans, each in a file of its own, behind the interface of `base`."""
