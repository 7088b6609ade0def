"""The verb ``evaluate``: how good algorithms are where there is no single truth."""
