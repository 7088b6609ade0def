"""What adjudicators decided about disputes of a study, how they agree, and what comes of it."""
