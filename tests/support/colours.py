"""Perception of colours: contrast, distance, and the effect of colour blindness on both."""

import numpy as np
from numpy.typing import NDArray

AA_TEXT, AA_GRAPHICS = 4.5, 3.0  # WCAG 2.2, success criteria 1.4.3 and 1.4.11

Colour = NDArray[np.float64]

# Machado, Oliveira & Fernandes (2009), severity 1.0, for linear RGB.
EYES: dict[str, Colour] = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}

# Ottosson (2020), "A perceptual color space for image processing".
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def channels(colour: str) -> Colour:
    """The sRGB channels in 0..1 of ``#rrggbb``."""
    return np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])


def linear(rgb: Colour) -> Colour:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(rgb: Colour) -> float:
    """Relative luminance of sRGB channels in 0..1, as WCAG 2.2 defines it."""
    return float(linear(rgb) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(front: str, back: str, *, opacity: float = 1.0) -> float:
    """Contrast ratio of two colours, 1 to 21. The foreground is drawn with this opacity."""
    mixed = opacity * channels(front) + (1 - opacity) * channels(back)
    lighter, darker = sorted((luminance(mixed), luminance(channels(back))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def oklab(colour: str, *, eye: str = "usual") -> Colour:
    """The colour in OKLab as seen with this kind of vision. The first value is lightness, 0 to
    1."""
    seen = np.clip(EYES[eye] @ linear(channels(colour)), 0, 1)
    lab: Colour = _TO_OKLAB @ np.cbrt(_TO_CONES @ seen)
    return lab


def distance(one: str, other: str, *, eye: str = "usual") -> float:
    """The difference of two colours with this kind of vision, in OKLab. About 0.02 is just
    noticeable."""
    return float(np.linalg.norm(oklab(one, eye=eye) - oklab(other, eye=eye)))
