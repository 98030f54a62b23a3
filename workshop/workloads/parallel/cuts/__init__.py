"""The ways to cut a training: each module is one cut, to be read in a sitting."""
