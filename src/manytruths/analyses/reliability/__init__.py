"""The verb ``reliability``: how far a rated data set can be trusted."""
