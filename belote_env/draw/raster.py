"""SVG to pixels. resvg and Pillow (extra `[draw]`) are imported when a picture is made."""

import importlib.util
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.rulings import whole_number

#: Of every picture, in pixels: even, as video codecs want it.
WIDTH, HEIGHT = 800, 600


def check_raster(what: str) -> None:
    """Refuse before anything is drawn.

    Args:
        what: the option that asks for pixels, as the message names it.

    Raises:
        ValueError: resvg_py or Pillow is missing.
    """
    if any(importlib.util.find_spec(name) is None for name in ("resvg_py", "PIL")):
        raise ValueError(f"{what} needs a rasteriser: pip install 'belote-env[draw]'")


def svg_to_png(svg: str, width: int = WIDTH) -> bytes:
    """A PNG file of a picture, `width` pixels wide. Words are set in the font that Pillow carries: the same pixels on
    every machine, with fonts or without.

    Raises:
        ValueError: the extra is missing, the text is no SVG, or a width that no picture has.
    """
    check_raster("a PNG")
    width = whole_number("width", width, 1, 10_000)
    import resvg_py
    from PIL import ImageFont

    font = ImageFont.load_default(16)
    if not isinstance(font, ImageFont.FreeTypeFont):  # a Pillow built without FreeType: the machine's own fonts
        return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width))
    with tempfile.TemporaryDirectory() as folder:  # resvg reads fonts from files only
        path = Path(folder, "font.otf")
        path.write_bytes(font.font_bytes)
        family = font.getname()[0]
        fonts: dict[str, Any] = {"skip_system_fonts": True, "font_files": [str(path)], "sans_serif_family": family}
        return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, **fonts))


def svg_to_rgb(svg: str, width: int = WIDTH) -> NDArray[np.uint8]:
    """(height, width, 3) uint8 pixels of a picture, on white.

    Raises:
        ValueError: as `svg_to_png`.
    """
    png = svg_to_png(svg, width)
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        flat = Image.new("RGBA", image.size, "white")
        flat.alpha_composite(image.convert("RGBA"))
        return np.array(flat.convert("RGB"), np.uint8)
