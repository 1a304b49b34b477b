"""A plugin of Gajim by which a test looks at its windows and uses them. It is run by Gajim, in its main loop.

It knows GTK and nearly nothing of Gajim: it reads what stands in the widgets that are shown, presses buttons, fills in
fields, and activates the actions behind menus. The test is at the other end of a socket, one JSON object a line:

    {"see": TEXT}           answered when what is shown is no longer TEXT: the windows, see `shown`
    {"press": NAME}         a button or check box, by the text on it or its id in Gajim's interface files
    {"write": [ID, TEXT]}   into a field, by its id; without one into the one field for messages
    {"select": TEXT}        activates the row of a list or tree in which this text stands, or in whose tooltip
    {"act": [ACTION, TARGET]}   an action as a menu entry would activate it, with its target in GVariant's text format
    {"trust": PATH}         certificates of this file are trusted by the machine, as far as this process sees it
    {"focus": true}         the main window gets the keyboard
    {"close": CLASS}        a window
    {"photograph": PATH}    the whole screen as PNG

Each has an "id" beside it and is answered by {"re": ID, "ok": ...} or {"re": ID, "error": TEXT}.
"""
# Gajim takes the first name of this module, in the order of ASCII, for the class of the plugin: no name here may come
# before Driver.
import json
import os
import socket
import traceback

import cairo
import gajim.common.app
import gajim.plugins.gajimplugin
from gi.repository import Gdk, Gio, GLib, GObject, Gtk


def colour(red, green, blue):
    return f"#{red:02x}{green:02x}{blue:02x}"


def of_surface(surface):
    """The colour in the middle of a picture."""
    surface.flush()
    at = surface.get_height() // 2 * surface.get_stride() + surface.get_width() // 2 * 4
    blue, green, red = bytes(surface.get_data()[at:at + 3])
    return colour(red, green, blue)


def of_pixbuf(pixbuf):
    at = pixbuf.get_height() // 2 * pixbuf.get_rowstride() + pixbuf.get_width() // 2 * pixbuf.get_n_channels()
    return colour(*pixbuf.get_pixels()[at:at + 3])


def of_image(image):
    kind = image.get_storage_type()
    if kind == Gtk.ImageType.SURFACE:
        return of_surface(image.props.surface)
    if kind == Gtk.ImageType.PIXBUF:
        return of_pixbuf(image.get_pixbuf())
    if kind == Gtk.ImageType.ICON_NAME:
        return f"icon {image.get_icon_name()[0]}"
    return None


def of_tree(model, row, into):
    while row is not None:
        values = [model.get_value(row, column) for column in range(model.get_n_columns())]
        into.append([of_surface(value) if isinstance(value, cairo.Surface) else value
                     for value in values if isinstance(value, (str, cairo.Surface))])
        of_tree(model, model.iter_children(row), into)
        row = model.iter_next(row)


def read(widget, into):
    """What is shown in this widget: texts, the colours of pictures, the names of icons; a row of a list is a list."""
    if not widget.get_mapped():
        return
    if isinstance(widget, Gtk.Label):
        into.append(widget.get_text())
    elif isinstance(widget, Gtk.Entry):
        into.append(widget.get_text() if widget.get_visibility() else "")
    elif isinstance(widget, Gtk.TextView):
        into.append(widget.get_buffer().props.text)
    elif isinstance(widget, Gtk.Image):
        into.append(of_image(widget))
    elif isinstance(widget, Gtk.TreeView):
        model = widget.get_model()
        if model is not None:
            of_tree(model, model.get_iter_first(), into)
    elif isinstance(widget, Gtk.ComboBoxText):
        into.append(widget.get_active_text())
    elif isinstance(widget, Gtk.Container):
        if isinstance(widget, Gtk.ListBoxRow):
            row = []
            into.append(row)
            into = row
        for child in widget.get_children():
            read(child, into)


def windows():
    return [window for window in Gtk.Window.list_toplevels() if window.get_mapped()]


def shown():
    """Windows by the names of their classes."""
    found = {}
    for window in windows():
        read(window, found.setdefault(type(window).__name__, []))
    return found


def widgets(root):
    if root.get_mapped():
        yield root
        if isinstance(root, Gtk.Container):
            for child in root.get_children():
                yield from widgets(child)


def find(what, fits):
    for window in windows():
        for widget in widgets(window):
            if fits(widget):
                return widget
    raise LookupError(f"{what} is not shown")


def named(widget, name):
    return isinstance(widget, Gtk.Buildable) and Gtk.Buildable.get_name(widget) == name


def press(name):
    def fits(widget):
        return isinstance(widget, (Gtk.Button, Gtk.Switch)) and widget.is_sensitive() and (
            named(widget, name) or isinstance(widget, Gtk.Button) and widget.get_label() == name)
    button = find(f"a button {name}", fits)
    if isinstance(button, (Gtk.ToggleButton, Gtk.Switch)):
        button.set_active(not button.get_active())
    else:
        button.clicked()


def write(name, text):
    if name:
        find(f"a field {name}", lambda widget: isinstance(widget, Gtk.Entry) and named(widget, name)).set_text(text)
    else:
        find("a field for messages", lambda widget: isinstance(widget, Gtk.TextView) and widget.get_editable()
             and widget.is_sensitive()).get_buffer().set_text(text)


def row_of(model, row, text):
    """The row of a tree in which this text stands."""
    while row is not None:
        if text in [model.get_value(row, column) for column in range(model.get_n_columns())]:
            return row
        inner = row_of(model, model.iter_children(row), text)
        if inner is not None:
            return inner
        row = model.iter_next(row)
    return None


def select(text):
    def fits(widget):
        if isinstance(widget, Gtk.TreeView):
            model = widget.get_model()
            return model is not None and row_of(model, model.get_iter_first(), text) is not None
        return isinstance(widget, Gtk.ListBoxRow) and any(
            text == inner.get_tooltip_text() or isinstance(inner, Gtk.Label) and text == inner.get_text()
            for inner in widgets(widget))
    widget = find(f"a row with {text}", fits)
    if isinstance(widget, Gtk.TreeView):
        model = widget.get_model()
        path = model.get_path(row_of(model, model.get_iter_first(), text))
        widget.set_cursor(path, None, False)
        widget.row_activated(path, widget.get_column(0))
    else:
        widget.activate()


def act(name, target):
    group, _, action = name.partition(".")
    actions = {"app": gajim.common.app.app, "win": gajim.common.app.window}[group]
    found = actions.lookup_action(action)
    if found is None or not found.get_enabled():
        raise LookupError(f"the action {name} is {'unknown' if found is None else 'disabled'}")
    found.activate(GLib.Variant.parse(None, target) if target else None)


def trust(path):
    Gio.TlsBackend.get_default().set_default_database(Gio.TlsFileDatabase.new(path))


def focus(_):
    gajim.common.app.window.get_window().focus(Gdk.CURRENT_TIME)


def close(name):
    for window in windows():
        if type(window).__name__ == name:
            window.close()


def photograph(path):
    root = Gdk.Screen.get_default().get_root_window()
    Gdk.pixbuf_get_from_window(root, 0, 0, root.get_width(), root.get_height()).savev(path, "png", [], [])


commands = {
    "press": press, "write": lambda given: write(*given), "select": select, "act": lambda given: act(*given),
    "trust": trust, "focus": focus, "close": close, "photograph": photograph}


class Driver(gajim.plugins.gajimplugin.GajimPlugin):
    def init(self):
        # Before Gajim asks which plugins are active. What else is set keeps it from other services and from questions.
        settings = gajim.common.app.settings
        settings.set_plugin_setting(self.manifest.short_name, "active", True)
        settings.set_plugin_setting("omemo", "active", False)
        for name, value in json.loads(os.environ["GAJIM_SETTINGS"]).items():
            settings.set_app_setting(name, value)

    def activate(self):
        Gtk.Settings.get_default().props.gtk_enable_animations = False
        Gtk.Settings.get_default().props.gtk_cursor_blink = False
        self.asked = None  # the number of a question what is shown, and what was shown before
        self.due = False
        self.clocks = set()
        self.rest = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["GAJIM_SOCKET"])
        GLib.io_add_watch(self.socket.fileno(), GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN, self.hear)
        GObject.add_emission_hook(Gtk.Widget, "map", self.changed)
        GObject.add_emission_hook(Gtk.Widget, "unmap", self.changed)

    def answer(self, name, **what):
        self.socket.sendall(json.dumps({"re": name, **what}).encode() + b"\n")

    def hear(self, *_):
        data = self.socket.recv(1 << 16)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            number = command.pop("id")
            (name, given), = command.items()
            if name == "see":
                self.asked = number, given
                self.changed()
                continue
            try:
                commands[name](given)
                self.answer(number, ok=True)
            except Exception as error:  # the test is told, and fails
                traceback.print_exc()
                self.answer(number, error=f"{name} {given}: {error}")
        return bool(data)

    def changed(self, *_):
        """Something was painted, or came or went: looked at when Gajim has nothing else to do."""
        if not self.due:
            self.due = True
            GLib.idle_add(self.look, priority=GLib.PRIORITY_LOW)
        return True

    def look(self):
        self.due = False
        for window in windows():
            clock = window.get_frame_clock()
            if clock not in self.clocks:
                self.clocks.add(clock)
                clock.connect("after-paint", self.changed)
        if self.asked is not None:
            number, before = self.asked
            seen = json.dumps(shown())
            if seen != before:
                self.asked = None
                self.answer(number, ok=seen)
        return False
