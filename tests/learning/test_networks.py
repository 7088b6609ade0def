"""The two networks: any size, any batch, one channel or three, and nothing that is not trained."""

from __future__ import annotations

import pytest
import torch

from manytruths import CallError
from manytruths.learning.networks import NETWORKS, build_network

SIZES = ((1, 1), (7, 40), (16, 16), (33, 47), (64, 32))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("channels", [1, 3])
def test_one_image_of_any_size_is_trained_on(name, size, channels):
    """A last batch of one image is common; small images shrink to a pixel, of which no variance is known."""
    net = build_network(name, channels, 2, width=4).train()
    logits = net(torch.rand(1, channels, *size))
    assert logits.shape == (1, 2, *size)
    assert logits.isfinite().all()


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_reach_every_parameter(name):
    net = build_network(name, 3, 2, width=4).train()
    torch.manual_seed(0)
    net(torch.rand(2, 3, 40, 48)).square().sum().backward()
    still = [n for n, p in net.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert still == []


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_saved_is_what_comes_back(name):
    first, second = (build_network(name, 1, 3, width=4) for _ in range(2))
    image = torch.rand(2, 1, 24, 40)
    first.train()(image)
    assert not torch.equal(first.eval()(image), second.eval()(image))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.eval()(image), second.eval()(image))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_pixel_sees_the_image_around_it(name):
    """The logits of the middle depend on pixels far away: there is a path down and up again."""
    net = build_network(name, 1, 1, width=4).eval()
    image = torch.rand(1, 1, 64, 64, requires_grad=True)
    net(image)[0, 0, 32, 32].backward()
    assert image.grad is not None
    assert (image.grad[0, 0].abs() > 0)[16:48:31, 16:48:31].all()


@pytest.mark.parametrize("name", NETWORKS)
def test_padding_changes_no_image_that_needs_none(name):
    """The same image alone and as one of a batch is judged alike."""
    net = build_network(name, 1, 1, width=4).eval()
    images = torch.rand(3, 1, 48, 64)
    torch.testing.assert_close(net(images)[1:2], net(images[1:2]))


def test_an_unknown_network_is_named():
    with pytest.raises(CallError, match="there is no network 'vnet'; use unet or deeplab"):
        build_network("vnet", 1, 1)
