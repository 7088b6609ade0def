"""Grey predictions: responses counted under every truth, curves, areas."""
