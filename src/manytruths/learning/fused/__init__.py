"""Kernels that run only within :func:`manytruths.learning.kernels.use_fused_kernels`."""
