"""The table as text, as SVG and, with the extra `[draw]`, as pixels. A picture shows what its `View` holds."""

from belote_env.draw.raster import HEIGHT, WIDTH, check_raster, svg_to_png, svg_to_rgb
from belote_env.draw.table import table_svg
from belote_env.draw.text import table_text
from belote_env.draw.view import View, view_of

__all__ = [
    "HEIGHT",
    "WIDTH",
    "View",
    "check_raster",
    "svg_to_png",
    "svg_to_rgb",
    "table_svg",
    "table_text",
    "view_of",
]
