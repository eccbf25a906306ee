"""The parts of the scripted server: standard library only, each import paid for at every start."""
