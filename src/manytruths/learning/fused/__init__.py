"""Kernels of few launches for a GPU, unless :func:`manytruths.learning.kernels.use_fused_kernels` turns them off."""
