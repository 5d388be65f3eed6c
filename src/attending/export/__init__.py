"""Export: one ONNX graph of a neural model, checked against it, that runs without torch."""
