"""What servers report about files: both channels merged, freshness known, and what a change introduced."""
