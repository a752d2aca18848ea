"""Devices, processes and replicas for training, and packing texts without padding."""
