"""The command ``evaluate``: algorithms against many reference standards."""
