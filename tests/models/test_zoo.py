"""The zoo against the libraries whose layer names and arithmetic it carries, and Architecture."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from seamripper._fingerprint import model_fingerprint
from seamripper.errors import ModelError
from seamripper.models import Architecture, architectures
from seamripper.models.libraries import import_timm, import_torchvision
from seamripper.models.running import use_seed
from seamripper.models.zoo.efficientnet_lite import SamePad
from seamripper.models.zoo.normalise import Normalise

pytestmark = pytest.mark.filterwarnings("ignore:The compiled part of torchvision:UserWarning")

SMALL = {
    **{name: f"{name}?width=0.125" for name in architectures if name.startswith("R_")},
    "resnet18": "resnet18?width=0.125&stem=3x3",
    "resnet34": "resnet34?width=0.125",
    "resnet50": "resnet50?width=0.125",
    "vgg19": "vgg19?width=0.125",
    "mobilenet_v2": "mobilenet_v2?width=0.125&normalise=torchvision",
    "efficientnet_lite0": "efficientnet_lite0?width=0.125&normalise=lite",
    "efficientnet_lite1": "efficientnet_lite1?width=0.125",
    "efficientnet_lite2": "efficientnet_lite2?width=0.125",
    "lenet": "lenet",
    "vit_tiny": "vit_tiny?patch=8",
    "autoencoder": "autoencoder?channels=3",
}


def inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def shaken(module: nn.Module) -> nn.Module:
    """With every tensor moved off its initial value, so that a swapped or forgotten one shows."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if tensor.is_floating_point():
                noise = torch.rand(tensor.shape, generator=generator)
                tensor.add_(noise if "running_var" in name else 0.05 * (noise - 0.5))
    return module.eval()


def assert_same_network(ours: nn.Module, theirs: nn.Module, x: Tensor) -> None:
    shaken(theirs)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    with torch.no_grad():
        assert torch.equal(ours.eval()(x), theirs(x))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "resnet34", "resnet50"])
def test_resnets_are_torchvisions(name: str) -> None:
    models = import_torchvision().models
    with use_seed(0):
        theirs = models.get_model(name, weights=None)
    ours = Architecture.parse(f"{name}?classes=1000").build(0)
    # A strict equality of the initial weights too: same order of layers, same initialisation.
    assert model_fingerprint(ours) == model_fingerprint(theirs)
    assert_same_network(ours, theirs, inputs(2, 3, 64, 64))


def test_mobilenet_is_torchvisions() -> None:
    models = import_torchvision().models
    for width in (1.0, 0.35, 1.4):
        with use_seed(0):
            theirs = models.mobilenet_v2(weights=None, width_mult=width, num_classes=7)
        ours = Architecture.parse("mobilenet_v2", width=width, classes=7).build(0)
        assert model_fingerprint(ours) == model_fingerprint(theirs)
        assert_same_network(ours, theirs, inputs(2, 3, 45, 64))


@pytest.mark.parametrize("name", ["efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2"])
def test_efficientnet_lites_are_timms(name: str) -> None:
    with use_seed(0):
        theirs = import_timm().create_model(f"tf_{name}")
    ours = Architecture.parse(f"{name}?classes=1000").build(0)
    # Even and odd maps are padded differently, and either side by itself.
    assert_same_network(ours, theirs, inputs(2, 3, 64, 45))
    x = inputs(1, 3, 33, 50)
    with torch.no_grad():
        assert torch.equal(ours(x), theirs(x))


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("n", range(1, 9))
def test_same_padding_is_tensorflows(size: int, n: int) -> None:
    """⌈n/2⌉ places come out, and of what is added the larger half goes behind (TensorFlow's own words for "same")."""
    added = max((-(-n // 2) - 1) * 2 + size - n, 0)
    padded = SamePad(size)(torch.ones(1, 1, n, n + 1))
    assert padded.shape[2] == n + added
    assert padded[0, 0, :, size // 2].tolist() == [0.0] * (added // 2) + [1.0] * n + [0.0] * (added - added // 2)
    assert nn.functional.max_pool2d(padded, size, 2).shape[2:] == (-(-n // 2), -(-(n + 1) // 2))


def test_a_resnet50_in_keras_form_differs_where_keras_does() -> None:
    ours, keras = (Architecture.parse(f"resnet50?width=0.125&form={f}").build(0) for f in ("torchvision", "keras"))
    strides = {
        name: (part.stride, part.bias is not None)
        for name, part in keras.named_modules()
        if isinstance(part, nn.Conv2d)
    }
    twos = [f"layer{k}.0.{part}" for k in (2, 3, 4) for part in ("conv1", "downsample.0")]
    assert {name for name, (stride, _) in strides.items() if stride == (2, 2)} == {"conv1", *twos}
    assert all(biased for _, biased in strides.values())
    for net, eps in ((ours, 1e-5), (keras, 1e-3)):
        assert {part.eps for part in net.modules() if isinstance(part, nn.BatchNorm2d)} == {eps}
    shapes = {k: v.shape for k, v in keras.state_dict().items() if k in ours.state_dict()}
    assert shapes == {k: v.shape for k, v in ours.state_dict().items()}


def test_normalising_inside_is_normalising_before() -> None:
    colours = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    numbers = (255 * colours).double()
    blue_first = numbers[:, [2, 1, 0]] - torch.tensor([103.939, 116.779, 123.68], dtype=torch.float64).view(3, 1, 1)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    for way, expected in (
        ("caffe", blue_first),
        ("lite", (numbers - 127) / 128),
        ("torchvision", (colours - mean) / std),
    ):
        torch.testing.assert_close(Normalise(way)(colours), expected.float(), rtol=1e-5, atol=1e-4)
        net, plain = (Architecture.parse("mobilenet_v2", width=0.125, normalise=w).build(0) for w in (way, "none"))
        with torch.no_grad():
            assert torch.equal(net.eval()(colours), plain.eval()(Normalise(way)(colours)))
        assert not list(Normalise(way).parameters())


@pytest.mark.parametrize("name", ["mobilenet_v2", "efficientnet_lite0", "resnet50"])
def test_normalising_is_of_three_colours(name: str) -> None:
    with pytest.raises(ModelError, match=r"Expected channels to be 3 with normalise=lite, .* but got 1"):
        Architecture.parse(f"{name}?channels=1&normalise=lite&width=0.125").build(0)


def test_vgg19_is_torchvisions() -> None:
    models = import_torchvision().models
    with torch.device("meta"):
        theirs = models.vgg19(weights=None, num_classes=10)
        ours = Architecture.parse("vgg19").build(0)
    theirs.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in theirs.parameters():
            tensor.uniform_(-0.02, 0.02, generator=torch.Generator().manual_seed(tensor.numel()))
    ours.load_state_dict(theirs.state_dict(), strict=True, assign=True)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = inputs(1, 3, 32, 32)
    with torch.no_grad():
        assert torch.equal(ours.eval()(x), theirs.eval()(x))


def test_a_narrow_vgg19_starts_at_the_scale_of_the_wide_one() -> None:
    """Without that a narrow one answers the same to everything, and does not leave the start."""
    deviations = {}
    for width in (0.125, 0.25):
        net = Architecture.parse(f"vgg19?width={width}").build(0)
        linear = [m for m in net.modules() if isinstance(m, torch.nn.Linear)]
        deviations[width] = [float(m.weight.detach().std()) for m in linear[:2]]
        assert deviations[width] == pytest.approx([0.01 / width**0.5] * 2, rel=0.02)


def test_vit_tiny_is_timms() -> None:
    timm = import_timm()
    with use_seed(0):
        theirs = timm.create_model("vit_tiny_patch16_224")
    ours = Architecture.parse("vit_tiny?patch=16&size=224&classes=1000").build(0)
    assert_same_network(ours, theirs, inputs(2, 3, 224, 224))


def test_vit_tiny_of_balogh_is_timms() -> None:
    timm = import_timm()
    with use_seed(0):
        theirs = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=4, num_classes=10)
    assert_same_network(Architecture.parse("vit_tiny").build(0), theirs, inputs(2, 3, 32, 32))


def test_r2222_is_resnet18_and_each_digit_counts_blocks() -> None:
    assert model_fingerprint(Architecture.parse("R_2222", width=0.125).build(0)) == model_fingerprint(
        Architecture.parse("resnet18", width=0.125).build(0)
    )
    for blocks in itertools.product((1, 2), repeat=4):
        net = Architecture.parse("R_" + "".join(map(str, blocks)), width=0.125).build(0)
        assert tuple(len(net.get_submodule(f"layer{i}")) for i in (1, 2, 3, 4)) == blocks  # type: ignore[arg-type]


def test_the_maps_of_smiths_resnet18() -> None:
    net = Architecture.parse("resnet18").build(0).eval()
    seen: dict[str, tuple[int, ...]] = {}
    for i in (1, 2, 3, 4):
        net.get_submodule(f"layer{i}").register_forward_hook(
            lambda _, __, out, i=i: seen.update({f"layer{i}": tuple(out.shape[1:])})
        )
    with torch.no_grad():
        net(inputs(1, 3, 28, 28))
    assert seen == {"layer1": (64, 7, 7), "layer2": (128, 4, 4), "layer3": (256, 2, 2), "layer4": (512, 1, 1)}


def test_the_3x3_stem_keeps_the_size() -> None:
    net = Architecture.parse("resnet18?stem=3x3&width=0.125").build(0).eval()
    with torch.no_grad():
        assert net.layer1(net.maxpool(net.conv1(inputs(1, 3, 32, 32)))).shape == (1, 8, 32, 32)  # type: ignore[operator]


@pytest.mark.parametrize("name", architectures)
def test_every_architecture_can_be_traced_and_gives_the_same(name: str) -> None:
    architecture = Architecture.parse(SMALL[name])
    module = architecture.build(0).eval()
    x = inputs(2, *(architecture.input or (3, 32, 32)))
    traced = torch.fx.symbolic_trace(module)
    with torch.no_grad():
        expected = module(x)
        assert torch.equal(traced(x), expected)
        assert traced(x[:1]).shape == expected[:1].shape
    assert expected.shape == (x.shape if architecture.reconstructs else (2, 10))


@pytest.mark.parametrize("name", architectures)
def test_nothing_in_the_zoo_works_in_place(name: str) -> None:
    assert not any(getattr(m, "inplace", False) for m in Architecture.parse(SMALL[name]).build(0).modules())


@pytest.mark.parametrize("name", architectures)
def test_a_seed_decides_every_weight(name: str) -> None:
    architecture = Architecture.parse(SMALL[name])
    first, again, other = (model_fingerprint(architecture.build(seed)) for seed in (3, 3, 4))
    assert first == again != other


def test_without_a_seed_the_global_generator_decides() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        built = Architecture.parse("lenet").build()
    assert model_fingerprint(built) == model_fingerprint(Architecture.parse("lenet").build(3))


def test_the_spec_is_canonical() -> None:
    one = Architecture.parse("zoo:resnet18?width=0.25&stem=3x3&classes=10")
    two = Architecture.parse("resnet18", stem="3x3", width=0.25)
    assert one == two
    assert hash(one) == hash(two)
    assert one.spec == str(two) == "zoo:resnet18?stem=3x3&width=0.25"
    assert Architecture.parse(one.spec) == one
    assert Architecture.parse("resnet18?width=1.0").spec == "zoo:resnet18"
    assert Architecture.parse("resnet18?width=2").spec == "zoo:resnet18?width=2"


@pytest.mark.parametrize("name", architectures)
def test_specs_of_all_families_read_back(name: str) -> None:
    architecture = Architecture.parse(SMALL[name])
    assert Architecture.parse(architecture.spec) == architecture


def test_inputs_are_known_only_where_the_architecture_fixes_them() -> None:
    assert Architecture.parse("resnet18").input is None
    assert Architecture.parse("lenet", channels=1).input == (1, 28, 28)
    assert Architecture.parse("vit_tiny", size=64).input == (3, 64, 64)
    assert Architecture.parse("autoencoder", size=32).input == (1, 32, 32)


def test_autoencoders_have_no_classes() -> None:
    assert Architecture.parse("autoencoder").classes is None
    assert Architecture.parse("lenet").classes == 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resnet19", "There is no zoo network 'resnet19': did you mean 'resnet18'"),
        ("R_1311", "did you mean 'R_1"),
        ("resnet18?widht=0.5", "has no option 'widht': did you mean 'width'? Its options are"),
        (
            "resnet18?width=wide",
            "Expected width of the zoo network 'resnet18' to be a number above 0, but got 'wide'",
        ),
        ("resnet18?width=nan", "a number above 0"),
        ("resnet18?width=-1", "a number above 0"),
        (
            "resnet18?classes=2.5",
            "Expected classes of the zoo network 'resnet18' to be a whole number of at least 1, but got '2.5'",
        ),
        ("resnet18?classes=0", "whole number of at least 1"),
        ("resnet18?stem=5x5", "Expected stem of the zoo network 'resnet18' to be 'imagenet' or '3x3', but got '5x5'"),
        ("autoencoder?size=30", "'28' or '32'"),
        ("resnet50?form=pytorch", "to be 'torchvision' or 'keras', but got 'pytorch'"),
        ("resnet18?form=keras", "The zoo network 'resnet18' has no option 'form'"),
        ("mobilenet_v2?normalise=tf", "to be 'none', 'torchvision', 'lite' or 'caffe', but got 'tf'"),
        ("mobilenet_v3", "did you mean 'mobilenet_v2'"),
        ("vit_tiny?dim=0", "Expected dim of the zoo network 'vit_tiny' to be a whole number of at least 1"),
        ("vit_tiny?depth=0", "Expected depth of the zoo network 'vit_tiny' to be a whole number of at least 1"),
        ("vit_tiny?heads=two", "Expected heads of the zoo network 'vit_tiny' to be a whole number of at least 1"),
        ("resnet18?width", "Expected options like"),
        ("resnet18?width=1&width=2", "given twice"),
    ],
)
def test_wrong_words_are_told(text: str, message: str) -> None:
    with pytest.raises(ModelError) as told:
        Architecture.parse(text)
    assert message in str(told.value)


@pytest.mark.parametrize("value", [True, None, [1], "1.5"])
def test_wrong_types_are_told(value: object) -> None:
    with pytest.raises(ModelError, match="classes"):
        Architecture.parse("lenet", classes=value)  # type: ignore[dict-item]


def test_a_small_vit_is_timms() -> None:
    VisionTransformer = import_timm().models.vision_transformer.VisionTransformer
    with use_seed(0):
        theirs = VisionTransformer(
            img_size=16, patch_size=4, in_chans=1, num_classes=5, embed_dim=24, depth=3, num_heads=2
        )
    ours = Architecture.parse("vit_tiny?size=16&channels=1&classes=5&dim=24&depth=3&heads=2").build(0)
    assert_same_network(ours, theirs, inputs(2, 1, 16, 16))


def test_heads_that_do_not_divide_the_tokens_are_told() -> None:
    with pytest.raises(ModelError, match=r"`dim` to be a multiple of `heads`.*, but got 64 and 3\."):
        Architecture.parse("vit_tiny?dim=64").build(0)


def test_a_patch_that_does_not_divide_the_image_is_told() -> None:
    with pytest.raises(ModelError, match="multiple of the patch"):
        Architecture.parse("vit_tiny?patch=5").build(0)
