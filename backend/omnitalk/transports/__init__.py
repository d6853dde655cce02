"""What carries a call: one socket or peer connection of one call. Above the hub, below the API."""
