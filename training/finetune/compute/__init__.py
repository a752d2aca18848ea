"""What a training computes on: devices, processes, replicas, and texts packed without padding."""
