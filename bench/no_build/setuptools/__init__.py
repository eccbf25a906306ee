"""Stands in for setuptools where pip downloads a source distribution, so that nothing of the archive is run."""
