// Where a message is written: text, mentions, replies, edits, drafts, files, recordings, the time of sending.

import { fill, h, name, svg } from "./dom.js";
import { bytes, duration, inAnHour, moment, t } from "./i18n.js";
import { icons } from "./icons.js";
import { reasonOf } from "./bubble.js";
import { summary } from "./summary.js";
import { preferences } from "./preferences.js";
import { cleanFileName, folded } from "./text.js";
import { attempt, button, field, menu, sheet, toast, tool } from "./ui.js";
import { record } from "./voice.js";

const EMOJI = [
  ..."😀😄😅😂🙂😉😊😍😘😎🤔😐🙄😴😢😭😡🤯🥳🤗👍👎👏🙌🙏💪👋🤝👀🔥🎉✨⭐🌹🌙☀️🍀☕🍕🎂🎁🎵📷📌✅❌❗❓💡🚀",
].filter((each) => each !== "\ufe0f");
/** The most files of one message. */
const FILES = 10;
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

/** Whether the user may write in a dialog, as far as the client knows: the server decides. */
export function mayWrite(dialog) {
  const me = dialog?.me;
  if (!me || me.role === "watcher" || me.kicked) return false;
  return dialog.whoWrites !== "admins" || ["owner", "admin"].includes(me.role);
}

/** Whether the first pointer is a finger. A machine that has a keyboard and no pointer at all has none that is fine. */
const isTouched = () => matchMedia("(pointer: coarse)").matches;

/** Whether a key chooses a word of an input method: Safari ends the composition before it tells of the key, which then has this number. */
const composes = (event) => event.isComposing || event.keyCode === 229;

/** Returns an image of a file, whose bytes the page lets go of once it has read them. */
function preview(file) {
  const src = URL.createObjectURL(file);
  const done = () => URL.revokeObjectURL(src);
  return h("img", { src, alt: "", on: { load: done, error: done } });
}

/** Reads a place: a `geo:` URI (RFC 5870), or a latitude and a longitude in degrees; `undefined` if it is none. */
export function placeOf(text) {
  const match = text
    .trim()
    .match(/^(?:geo:)?([-+]?\d+(?:\.\d+)?)\s*[,\s]\s*([-+]?\d+(?:\.\d+)?)(?:,[-+]?\d+(?:\.\d+)?)?((?:;[^;]*)*)$/i);
  if (!match) return undefined;
  const parameters = new Map(
    match[3]
      .toLowerCase()
      .split(";")
      .slice(1)
      .map((each) => each.split("=")),
  );
  const [lat, lng, accuracy] = [Number(match[1]), Number(match[2]), Math.round(Number(parameters.get("u")))];
  if (Math.abs(lat) > 90 || Math.abs(lng) > 180 || (parameters.get("crs") ?? "wgs84") !== "wgs84") return undefined;
  return { lat, lng, ...(accuracy > 0 && { accuracy }) };
}

export class Composer {
  /** @param {import("./dialog.js").DialogScreen} screen */
  constructor(screen) {
    this.screen = screen;
    this.app = screen.app;
    this.files = [];
    this.mentions = [];
    this.context = h("div", { class: "context", hidden: true });
    this.tray = h("div", { class: "tray", hidden: true });
    this.suggestions = h("div", {
      class: "menu suggestions",
      role: "listbox",
      "aria-label": t("mentions"),
      hidden: true,
    });
    this.text = h("textarea", {
      class: "write",
      rows: 1,
      dir: "auto",
      placeholder: t("composer.placeholder"),
      "aria-label": t("composer.placeholder"),
      enterkeyhint: "enter",
      on: {
        input: () => this.typed(),
        keydown: (event) => this.key(event),
        paste: (event) => this.pasted(event),
        blur: () => setTimeout(() => this.suggest([]), 150),
      },
    });
    this.picker = h("input", {
      type: "file",
      multiple: true,
      class: "unseen",
      tabindex: "-1",
      "aria-hidden": "true",
      on: {
        change: () => {
          this.add([...this.picker.files]);
          this.picker.value = "";
        },
      },
    });
    this.submit = tool("send", t("send"), () => this.send(), { class: "main", turns: true });
    this.submit.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      if (!this.editing && !this.app.isGuest) this.later();
    });
    this.voice = tool("microphone", t("voice.record"), () => this.record());
    this.line = h(
      "div",
      { class: "write-line" },
      tool("attach", t("attach"), (event) => this.attach(event.currentTarget), { "aria-haspopup": "menu" }),
      this.picker,
      this.text,
      tool("smile", t("emoji"), (event) => this.emoji(event.currentTarget), { "aria-haspopup": "menu" }),
      this.voice,
      this.submit,
    );
    this.note = h("div", { class: "write-line", hidden: true });
    this.element = h("footer", { class: "composer" }, this.suggestions, this.context, this.tray, this.line, this.note);
    this.drop = h("div", { class: "drop", hidden: true }, h("p", {}, t("file.drop")));
    const hasFiles = (event) => event.dataTransfer.types.includes("Files");
    this.handlers = {
      dragover: (event) => {
        if (hasFiles(event)) {
          event.preventDefault();
          this.drop.hidden = false;
        }
      },
      dragleave: (event) => {
        if (!screen.place.contains(event.relatedTarget)) this.drop.hidden = true;
      },
      drop: (event) => {
        if (hasFiles(event)) {
          event.preventDefault();
          this.drop.hidden = true;
          this.add([...event.dataTransfer.files]);
        }
      },
    };
    for (const [event, handler] of Object.entries(this.handlers)) screen.place.addEventListener(event, handler);
    const draft = this.app.drafts.of(screen.dialogId);
    if (draft) this.resume(draft);
    // A browser that has kept nothing of the dialog gets the message that is replied to only now.
    if (draft?.replyTo && !this.replying)
      screen.view.fresh.then(
        () => {
          if (this.text.value === draft.text && !this.editing) this.resume(draft);
        },
        () => {},
      );
    this.endDraft = this.app.parley.on("draft.updated", ({ dialogId, draft: other }) => {
      // What another device writes is taken while nobody writes here.
      if (
        dialogId === screen.dialogId &&
        document.activeElement !== this.text &&
        !this.editing &&
        !this.app.drafts.kept(dialogId)
      ) {
        this.resume(other);
        this.resize();
      }
    });
    this.allow();
    requestAnimationFrame(() => this.resize());
  }

  /** Goes on with a draft, or with none. */
  resume(draft) {
    this.text.value = draft?.text ?? "";
    const replied = draft?.replyTo && this.screen.messageOf(draft.replyTo);
    if (replied) this.reply(replied, false);
    else {
      this.replying = undefined;
      this.context.hidden = true;
    }
  }

  close() {
    this.endDraft();
    for (const [event, handler] of Object.entries(this.handlers)) this.screen.place.removeEventListener(event, handler);
    this.recording?.cancel();
    this.app.parley.setTyping(this.screen.dialogId, false);
  }

  focus() {
    // On a touch screen the keyboard would cover what one wants to read.
    if (!isTouched()) this.text.focus();
  }

  /** Shows the line to write in, or why the user may not write: either can become so while the dialog is open. */
  allow() {
    const { dialogId, mayWrite, dialog } = this.screen;
    const refusal = mayWrite ? undefined : dialog?.me?.kicked ? "composer.kicked" : "composer.readOnly";
    if (refusal === this.refusal) return;
    this.refusal = refusal;
    this.line.hidden = refusal !== undefined;
    this.note.hidden = refusal === undefined;
    fill(
      this.note,
      refusal && h("p", { class: "soft grow" }, t(refusal)),
      refusal === "composer.kicked" &&
        button(t("public.join"), () => attempt(() => this.app.parley.putMember(dialogId, "me", {}))),
    );
    this.resize();
  }

  resize() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, 180)}px`;
    const hasContent = this.text.value.trim() !== "" || this.files.length > 0;
    this.submit.hidden = !hasContent && !this.editing;
    this.voice.hidden = hasContent || Boolean(this.editing);
  }

  // MARK: Writing

  typed() {
    this.resize();
    if (!this.editing) {
      this.app.drafts.keep(this.screen.dialogId, this.text.value, this.replying?.id);
      this.app.parley.setTyping(this.screen.dialogId, this.text.value !== "");
    }
    this.complete();
  }

  key(event) {
    if (!this.suggestions.hidden && this.suggestionKey(event)) return;
    if (
      event.key === "Enter" &&
      !event.shiftKey &&
      !composes(event) &&
      preferences.get("sendsOnEnter") &&
      !isTouched()
    ) {
      event.preventDefault();
      this.send();
    } else if (event.key === "ArrowUp" && this.text.value === "" && !event.shiftKey) {
      const own = this.screen.view.messages.findLast(
        (message) =>
          message.senderId === this.app.parley.userId &&
          message.content.type === "text" &&
          message.id &&
          !message.forwardedFrom,
      );
      if (own) {
        event.preventDefault();
        this.edit(own);
      }
    }
  }

  async send() {
    const { editing } = this;
    const message = this.written();
    if (!message || (editing && !message.text)) return;
    if (editing) {
      this.cancel();
      await attempt(() => this.app.parley.edit(this.screen.dialogId, editing.id, message.text, message.mentions));
      return;
    }
    const draft = { text: this.text.value, replyTo: this.replying?.id };
    this.clear();
    await this.app.drafts.leave(this.screen.dialogId, draft, this.screen.send(message));
  }

  /** Returns the message as it is written so far; `undefined` if there is none. */
  written() {
    const text = this.text.value.trim();
    const { replying, files } = this;
    if (!text && !files.length) return undefined;
    return {
      ...(text && { text }),
      ...this.placedMentions(text),
      ...(replying?.id && { replyTo: replying.id }),
      ...(files.length && { files }),
    };
  }

  /** Empties the composer after sending. */
  clear() {
    this.text.value = "";
    this.files = [];
    this.mentions = [];
    this.cancel();
    this.drawTray();
    this.app.parley.setTyping(this.screen.dialogId, false);
    this.resize();
    this.focus();
  }

  reply(message, focuses = true) {
    this.editing = undefined;
    this.replying = message;
    this.showContext(
      "reply",
      t("reply.to", { name: this.screen.nameOf(message.senderId, message.senderNick) }),
      summary(this.app, message),
    );
    if (focuses) this.text.focus();
  }

  edit(message) {
    this.replying = undefined;
    this.editing = message;
    this.kept = this.text.value;
    this.mentions = (message.mentions ?? [])
      .filter((each) => each.begin !== undefined)
      .map((each) => ({ userId: each.userId, text: [...message.content.text].slice(each.begin, each.end).join("") }));
    this.text.value = message.content.text;
    this.showContext("edit", t("message.edit"), summary(this.app, message));
    this.resize();
    this.text.focus();
  }

  /** Ends a reply or an edit. Returns whether there was one. */
  cancel() {
    const was = this.editing ?? this.replying;
    if (this.editing) {
      this.text.value = this.kept ?? "";
      this.mentions = [];
    }
    this.editing = undefined;
    this.replying = undefined;
    this.context.hidden = true;
    this.resize();
    return Boolean(was);
  }

  showContext(icon, title, text) {
    this.context.hidden = false;
    fill(
      this.context,
      svg(icons[icon], "icon turns"),
      h(
        "span",
        { class: "grow" },
        h("span", { class: "cut title" }, title),
        h("span", { class: "note cut", dir: "auto" }, text),
      ),
      tool("close", t("cancel"), () => {
        this.cancel();
        this.focus();
      }),
    );
  }

  // MARK: Mentions

  complete() {
    const before = this.text.value.slice(0, this.text.selectionStart);
    const match = this.screen.isGroup && before.match(/(?:^|\s)@([^\s@]*)$/u);
    if (!match) {
      this.completing = undefined;
      this.suggest([]);
      return;
    }
    const query = folded(match[1]);
    this.completing = { begin: before.length - match[1].length - 1, end: before.length };
    const show = () =>
      this.suggest(
        [...this.screen.members.keys()]
          .filter((id) => id !== this.app.parley.userId && folded(this.screen.nameOf(id)).includes(query))
          .slice(0, 6),
      );
    const asked = this.completing;
    show();
    // Of a large group only the first members are known until somebody is mentioned.
    this.screen.loadMembers(() => {
      if (this.completing === asked && !this.suggestions.matches(":hover")) show();
    });
  }

  suggest(ids) {
    this.suggestions.hidden = !ids.length;
    fill(
      this.suggestions,
      ids.map((id, index) =>
        h(
          "button",
          {
            type: "button",
            role: "option",
            "aria-selected": String(index === 0),
            data: { id },
            on: {
              pointerdown: (event) => {
                event.preventDefault();
                this.take(id);
              },
            },
          },
          this.app.people.avatar({ userId: id, nick: this.screen.memberNameOf(id), size: 28 }),
          name(this.screen.nameOf(id)),
        ),
      ),
    );
  }

  suggestionKey(event) {
    const options = [...this.suggestions.children];
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const chosen = (at + step + options.length) % options.length;
      for (const [index, option] of options.entries()) option.setAttribute("aria-selected", String(index === chosen));
    } else if (event.key === "Enter" || event.key === "Tab") this.take(options[at]?.dataset.id);
    else if (event.key === "Escape") {
      this.suggest([]);
      event.stopPropagation();
    } else return false;
    event.preventDefault();
    return true;
  }

  take(id) {
    if (!id) return;
    const text = `@${this.app.people.plainNameOf(id, this.screen.memberNameOf(id))}`;
    const { begin, end } = this.completing;
    this.text.value = `${this.text.value.slice(0, begin)}${text} ${this.text.value.slice(end)}`;
    this.text.selectionStart = this.text.selectionEnd = begin + text.length + 1;
    this.mentions.push({ userId: id, text });
    this.suggest([]);
    this.typed();
  }

  /** Finds the mentions that are still in the text, and counts their places in code points. */
  placedMentions(text) {
    const mentions = [];
    let from = 0;
    for (const each of this.mentions) {
      const at = text.indexOf(each.text, from);
      if (at < 0) continue;
      const begin = [...text.slice(0, at)].length;
      mentions.push({ userId: each.userId, begin, end: begin + [...each.text].length });
      from = at + each.text.length;
    }
    return mentions.length ? { mentions } : {};
  }

  emoji(place) {
    const close = menu(place, [
      h(
        "div",
        { class: "emojis" },
        EMOJI.map((emoji) =>
          h(
            "button",
            {
              type: "button",
              role: "menuitem",
              on: {
                click: () => {
                  close(false);
                  this.text.setRangeText(emoji, this.text.selectionStart, this.text.selectionEnd, "end");
                  this.typed();
                  this.text.focus();
                },
              },
            },
            emoji,
          ),
        ),
      ),
    ]);
  }

  // MARK: Files

  attach(place) {
    menu(place, [
      {
        icon: "camera",
        label: t("attach.picture"),
        action: () => {
          this.picker.accept = "image/*,video/*";
          this.picker.click();
        },
      },
      {
        icon: "file",
        label: t("attach.file"),
        action: () => {
          this.picker.accept = "";
          this.picker.click();
        },
      },
      { icon: "location", label: t("attach.location"), action: () => this.location() },
      !this.editing && !this.app.isGuest && { icon: "clock", label: t("schedule"), action: () => this.later() },
      !this.app.isGuest && { icon: "clock", label: t("schedule.list"), action: () => this.scheduled() },
    ]);
  }

  add(files) {
    if (!files.length || !this.screen.mayWrite) return;
    if (this.files.length + files.length > FILES) toast(t("file.tooMany", { count: FILES }));
    this.files.push(...files.slice(0, FILES - this.files.length));
    this.drawTray();
    this.resize();
    this.focus();
  }

  /** Goes on with what the user shares from elsewhere, behind what is written here already. */
  receive(text, files) {
    if (this.editing) this.cancel();
    this.text.value = [this.text.value, text].filter(Boolean).join("\n");
    this.app.drafts.keep(this.screen.dialogId, this.text.value, this.replying?.id);
    this.resize();
    this.add(files);
  }

  drawTray() {
    this.tray.hidden = !this.files.length;
    fill(
      this.tray,
      this.files.map((file) =>
        h(
          "div",
          { class: "tray-item" },
          PICTURE.test(file.type) ? preview(file) : h("span", { class: "file-icon" }, svg(icons.file)),
          h("span", { class: "note cut" }, h("bdi", {}, cleanFileName(file.name)), ` ${bytes(file.size)}`),
          tool("close", t("remove.named", { name: cleanFileName(file.name) }), () => {
            this.files = this.files.filter((each) => each !== file);
            this.drawTray();
            this.resize();
          }),
        ),
      ),
    );
  }

  pasted(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    this.add(files);
  }

  location() {
    sheet(t("location"), (close) => {
      const where = field(t("location.where"), {
        required: true,
        placeholder: "45.4386, 10.9928",
        dir: "ltr",
        autocomplete: "off",
      });
      const title = field(t("location.name"), { maxlength: 100 });
      const here = () =>
        navigator.geolocation.getCurrentPosition(
          ({ coords }) => {
            where.input.value = `geo:${coords.latitude.toFixed(6)},${coords.longitude.toFixed(6)};u=${Math.round(coords.accuracy)}`;
          },
          () => toast(t("location.denied")),
          { enableHighAccuracy: true, timeout: 15_000 },
        );
      return h(
        "form",
        {
          class: "sheet-body",
          style: { padding: "0" },
          on: {
            submit: (event) => {
              event.preventDefault();
              const place = placeOf(where.input.value);
              if (!place) {
                toast(t("location.malformed"));
                return;
              }
              close();
              attempt(() =>
                this.screen.send({
                  content: {
                    type: "location",
                    ...place,
                    ...(title.input.value.trim() && { name: title.input.value.trim() }),
                  },
                }),
              );
            },
          },
        },
        where.element,
        navigator.geolocation && button(t("location.here"), here, "plain"),
        title.element,
        h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(t("send"), undefined, "main")),
      );
    });
  }

  // MARK: Recordings

  async record() {
    const level = h("span", { class: "level" });
    const time = h("span", { class: "grow" }, duration(0));
    try {
      this.recording = await record((value, length) => {
        level.style.transform = `scale(${0.6 + value / 320})`;
        time.textContent = duration(length);
      });
    } catch {
      toast(t("voice.denied"));
      return;
    }
    const strip = h(
      "div",
      { class: "write-line recording", role: "group", "aria-label": t("voice.record") },
      tool("trash", t("cancel"), () => end(false)),
      level,
      time,
      tool("send", t("send"), () => end(true), { class: "main", turns: true }),
    );
    const end = async (sends) => {
      strip.replaceWith(this.line);
      const { recording } = this;
      this.recording = undefined;
      if (sends) await attempt(async () => this.screen.send(await recording.finish()));
      else await recording.cancel();
      this.focus();
    };
    this.line.replaceWith(strip);
    strip.querySelector(".main").focus();
  }

  // MARK: Scheduled messages

  later() {
    const message = !this.editing && this.written();
    if (!message) {
      toast(t("schedule.empty"));
      return;
    }
    const { replying } = this;
    this.time(
      inAnHour(),
      [
        replying &&
          h(
            "p",
            { class: "note cut" },
            t("reply.to", { name: this.screen.nameOf(replying.senderId, replying.senderNick) }),
          ),
        h("p", { class: "soft", dir: "auto" }, message.text),
        this.files.map(({ name }) => h("p", { class: "note cut" }, h("bdi", {}, cleanFileName(name)))),
      ],
      async (sendAt, close) => {
        await this.app.parley.schedule(this.screen.dialogId, sendAt, message);
        close();
        this.clear();
        this.app.drafts.keep(this.screen.dialogId, "");
        toast(t("schedule.done"));
      },
    );
  }

  /** Asks when something is to be sent. `done` is given the time and what closes the sheet, and may fail. */
  time(proposed, content, done) {
    sheet(t("schedule"), (close) => {
      const value = new Date(proposed - proposed.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
      const when = field(t("schedule.when"), { type: "datetime-local", value, required: true });
      return h(
        "form",
        {
          class: "sheet-body",
          style: { padding: "0" },
          on: {
            submit: (event) => {
              event.preventDefault();
              attempt(() => done(new Date(when.input.value), close));
            },
          },
        },
        content,
        when.element,
        h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(t("schedule"), undefined, "main")),
      );
    });
  }

  /**
   * Changes when a scheduled message is sent, and its text, unless it has mentions, whose places are in it.
   *
   * @param {import("../js/parley.js").ScheduledMessage} scheduled
   */
  reschedule({ id, sendAt, content, mentions }) {
    const words =
      content.type === "text" &&
      !mentions?.length &&
      field(t("message.original"), { rows: 3, required: true, value: content.text }, "textarea");
    this.time(
      new Date(sendAt),
      words ? words.element : h("p", { class: "soft", dir: "auto" }, content.text),
      async (time, close) => {
        const text = words ? words.input.value.trim() : "";
        await this.app.parley.updateScheduled(id, {
          sendAt: time,
          ...(text && text !== content.text && { content: { type: "text", text } }),
        });
        close();
      },
    );
  }

  async scheduled() {
    await attempt(async () => {
      const page = await this.app.parley.listScheduled();
      const here = page.items.filter((each) => each.dialogId === this.screen.dialogId);
      sheet(t("schedule.list"), (close) =>
        here.length
          ? here.map((each) =>
              h(
                "div",
                { class: "item" },
                svg(icons.clock),
                h(
                  "span",
                  { class: "grow" },
                  h("span", { class: "cut", dir: "auto", style: { display: "block" } }, summary(this.app, each)),
                  h(
                    "span",
                    { class: "note" },
                    each.state === "failed" ? reasonOf(each.code, each.detail) : moment(each.sendAt),
                  ),
                ),
                button(t("message.edit"), () => {
                  close();
                  this.reschedule(each);
                }),
                button(
                  t("cancel"),
                  () => attempt(() => this.app.parley.cancelScheduled(each.id)).then(close),
                  "danger",
                ),
              ),
            )
          : h("p", { class: "empty" }, t("schedule.none")),
      );
    });
  }
}
