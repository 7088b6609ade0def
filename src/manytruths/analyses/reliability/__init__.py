"""The command ``reliability``: how far rated data and masks can be trusted."""
