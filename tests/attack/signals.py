def interruptions(seed):
    return ()
