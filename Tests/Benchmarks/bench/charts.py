"""Horizontal bar charts as SVG, without any library."""
from html import escape

COLOURS = {"parley": "#c2410c", "p-none": "#60a5fa", "p-internal": "#3b82f6", "p-sqlite": "#1d4ed8",
           "e-none": "#a3a3a3", "e-mnesia": "#737373", "e-sqlite": "#525252", "e-pgsql": "#262626"}
WIDTH, LABEL, VALUE, MARGIN, BAR, GAP, TOP = 760, 170, 90, 190, 16, 14, 64


def text(x, y, content, anchor="start", size=12, colour="#1f2937", weight="normal"):
    return '<text x="%g" y="%g" text-anchor="%s" font-size="%d" fill="%s" font-weight="%s">%s</text>' % (
        x, y, anchor, size, colour, weight, escape(content))


def bar_chart(title, subtitle, groups, unit="", mark=None):
    """groups: [(label, [(series, name shown, value)])]. mark draws a line at a value.

    Bars of all groups share one scale. A bar of more than ten times the median is cut off, with a mark: otherwise one
    extreme value would make the others invisible.
    """
    values = sorted(v for _, bars in groups for _, _, v in bars)
    limit = 10 * values[len(values) // 2]
    top = max([v for v in values if v <= limit] + [mark or 0]) or 1
    room = WIDTH - LABEL - VALUE
    y, body = TOP, []
    for label, bars in groups:
        middle = y + len(bars) * (BAR + 2) / 2 + 3
        body.append(text(8, middle, label, weight="bold"))
        for series, name, value in bars:
            length = max(1.0, room * min(1, value / top))
            body.append('<rect x="%d" y="%g" width="%.1f" height="%d" fill="%s"><title>%s</title></rect>' % (
                LABEL, y, length, BAR, COLOURS.get(series, "#9ca3af"), escape("%s, %s: %g %s" % (label, name, value, unit))))
            if value > top:
                body.append('<path d="M%.1f %g l8 %d" stroke="#ffffff" stroke-width="4"/>' % (
                    LABEL + length - 24, y, BAR))
            body.append(text(LABEL + length + 6, y + BAR - 4, "%s  %s" % (shown(value), name), size=11, colour="#4b5563"))
            y += BAR + 2
        y += GAP
    if mark is not None:
        x = LABEL + room * mark / top
        body.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%g" stroke="#111827" stroke-dasharray="4 3"/>' % (
            x, x, TOP - 6, y - GAP + 4))
    head = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%g" viewBox="0 0 %d %g" '
            'font-family="system-ui, sans-serif" role="img" aria-label="%s">' % (
                WIDTH + MARGIN, y + 4, WIDTH + MARGIN, y + 4, escape(title)),
            '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
            text(8, 24, title, size=16, weight="bold"), text(8, 44, subtitle, size=12, colour="#4b5563")]
    return "\n".join(head + body + ["</svg>"]) + "\n"


def shown(v):
    return format(round(v), ",") if v >= 100 else "%.3g" % v
