"""Data forms (XEP-0004 2.13.2), as a client reads what they offer and fills them in."""
import dataclasses
from xml.sax.saxutils import escape

from lib.harness import expect

FORM, VALIDATE = "jabber:x:data", "http://jabber.org/protocol/xdata-validate"


@dataclasses.dataclass
class Field:
    name: str
    kind: str
    values: list
    options: list
    range: tuple  # the least and the greatest whole number (XEP-0122), or nothing

    @property
    def offers(self):
        """The values that the field itself names; a text without a range names none."""
        if self.kind == "boolean":
            return ["1", "0"]
        return [*self.options, *map(str, self.range)]


class Form:
    """The first form within an element."""

    def __init__(self, element):
        form = next(element.iter(f"{{{FORM}}}x"), None)
        expect(form is not None, f"there is no form in {[child.tag for child in element.iter()]}")
        self.fields = {}
        for field in form.findall(f"{{{FORM}}}field[@var]"):  # what has no name is to be read only
            bounds = field.find(f"{{{VALIDATE}}}validate/{{{VALIDATE}}}range")
            self.fields[field.get("var")] = Field(
                field.get("var"), field.get("type"), texts(field), [texts(option)[0] for option in field.findall(f"{{{FORM}}}option")],
                () if bounds is None else (int(bounds.get("min")), int(bounds.get("max"))))
        hidden = self.fields.pop("FORM_TYPE", None)
        self.type = hidden and hidden.values[0]

    def __getitem__(self, name):
        return self.fields[name].values

    def filled(self, **values):
        return filled(self.type, values)


def texts(element):
    return [value.text or "" for value in element.findall(f"{{{FORM}}}value")]


def filled(kind, values):
    """A form of this type with these values: one, or a list of them."""
    if kind:
        values = {"FORM_TYPE": kind, **values}
    fields = "".join(
        f"<field var='{name}'>" + "".join(f"<value>{escape(each)}</value>" for each in ([value] if isinstance(value, str) else value)) + "</field>"
        for name, value in values.items())
    return f"<x xmlns='{FORM}' type='submit'>{fields}</x>"
