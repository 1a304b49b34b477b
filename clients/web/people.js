// Who is who: names, pictures, contacts, blocks, presence.

import { h } from "./dom.js";
import { cleanAddress, cleanName, cut, looks } from "./text.js";
import { moment, t } from "./i18n.js";

/** The most people and groups whose names are compared: those of the longest list of dialogs. */
const COMPARED_MAX = 5000;
/** The most names and addresses of one of them that are compared, so that many changes of a name cost nothing. */
const LOOKS_MAX = 12;
/** The characters of a name beside which an address is shown. */
const BESIDE_MAX = 40;
/** What the id of somebody in a group that hides its members begins with: one person has another such id in each group. */
const HIDDEN = "occupant:";
/** The digits of such an id that are shown: 32 bits, which nobody obtains by trying accounts. */
const HIDDEN_SHOWN = 8;

const isHidden = (id) => id.startsWith(HIDDEN);

/** Keeps what the screens show of people, and tells when it has changed. */
export class People {
  /** @param {import("../js/parley.js").Parley} parley */
  constructor(parley) {
    this.parley = parley;
    this.contacts = new Map();
    this.blocked = new Set();
    this.pictures = new Map();
    this.asked = new Set();
    /** By the id of a person or a group: what its names and addresses look like. */
    this.looks = new Map();
    /** By such a look: who has it, and as which texts, in lower case. */
    this.alike = new Map();
    this.listeners = new Set();
    parley.on("contact.updated", ({ contact, removed }) => {
      if (removed) this.contacts.delete(contact.userId);
      else this.contacts.set(contact.userId, contact);
      this.changed();
    });
    parley.on("contacts.changed", () => this.load().catch(() => {}));
    parley.on("resync", () => this.load().catch(() => {}));
    parley.on("connection", ({ state }) => {
      if (state === "online" && !this.isLoaded) this.load().catch(() => {});
    });
    parley.on("block.updated", ({ blocks, blocked }) => {
      for (const { userId, jid } of blocks)
        blocked ? this.blocked.add(userId ?? jid) : this.blocked.delete(userId ?? jid);
      this.changed();
    });
    parley.on("user.updated", () => this.changed());
    parley.on("presence", () => this.changed());
  }

  async load() {
    const [contacts, blocks] = await Promise.all([this.parley.listContacts(), this.parley.listBlocks()]);
    this.isLoaded = true;
    this.contacts = new Map(contacts.items.map((contact) => [contact.userId, contact]));
    this.blocked = new Set(blocks.items.map((block) => block.userId ?? block.jid));
    // Whoever imitates a contact is recognised, also where no screen shows that contact.
    for (const id of [this.parley.userId, ...this.contacts.keys()]) this.nameOf(id);
    this.changed();
  }

  /** Calls the listener when a name, a picture or a presence may have changed. */
  onChange(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  changed() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const listener of this.listeners) listener();
    });
  }

  get requests() {
    return [...this.contacts.values()].filter((contact) => contact.state === "pendingIn");
  }

  /** Returns what is known of a user, and asks for the rest unless it is `given`, as in a dialog. */
  user(id, given = undefined) {
    if (!id || isHidden(id)) return undefined;
    const known = id === this.parley.userId ? this.parley.user : (this.parley.knownUser(id) ?? given);
    if (!known && !this.asked.has(id)) {
      this.asked.add(id);
      // Whom the server does not know is not asked for again; whom the cache has dropped is.
      this.parley.getUser(id).then(
        (user) => {
          if (user) this.asked.delete(id);
          this.changed();
        },
        () => this.asked.delete(id),
      );
    }
    return known;
  }

  /** Returns the name of a user: the caller's own for them, theirs, the nick, or the id. */
  plainNameOf(id, nick, given = undefined) {
    const user = this.user(id, given);
    return (
      cleanName(this.contacts.get(id)?.name) ||
      cleanName(user?.name) ||
      cleanName(nick) ||
      (id && !isHidden(id) ? cleanAddress(id) : "") ||
      t("somebody")
    );
  }

  /**
   * Returns the name of a user, and the address if somebody else has a name or an address that looks like it: the address
   * distinguishes the two, and no screen cuts it off. Where it is hidden the occupant id does (XEP-0421), which nobody chooses. Only the
   * client adds it: no server knows which names a user sees beside each other.
   */
  markedNameOf(id, nick, given = undefined) {
    const title = this.plainNameOf(id, nick, given);
    if (!id) return { title };
    const address = isHidden(id)
      ? t("address.hidden", { id: cut(cleanAddress(id.slice(HIDDEN.length)), HIDDEN_SHOWN) })
      : cleanAddress(this.user(id, given)?.jid ?? this.contacts.get(id)?.jid ?? id);
    return this.isAlike(id, title, isHidden(id) ? "" : address)
      ? { title: cut(title, BESIDE_MAX), address }
      : { title };
  }

  /** Returns the same in one text. */
  nameOf(id, nick, given = undefined) {
    const { title, address } = this.markedNameOf(id, nick, given);
    return address ? `${title} (${address})` : title;
  }

  /**
   * Returns whether a name looks like the name or the address of somebody else, also one of before. In a group that hides its members
   * those whom one knows have their own names, so that the same name there is no imitation; one that only looks the same is one, and
   * never makes the known person suspect.
   */
  isAlike(id, title, address) {
    let known = this.looks.get(id);
    if (!known) {
      if (this.looks.size >= COMPARED_MAX) this.forget(this.looks.keys().next().value);
      known = new Map();
      this.looks.set(id, known);
    }
    for (const text of [title, address, address.split("@")[0]]) {
      if (known.has(text) || known.size >= LOOKS_MAX) continue;
      known.set(text, looks(text));
      for (const each of known.get(text)) {
        const others = this.alike.get(each) ?? new Map();
        this.alike.set(each, others.set(id, (others.get(id) ?? new Set()).add(text.toLowerCase())));
        if (others.size > 1) this.changed();
      }
    }
    // Groups of one name are usual.
    const isGroup = id.startsWith("group:");
    const found = new Map((known.get(title) ?? looks(title)).flatMap((each) => [...(this.alike.get(each) ?? [])]));
    const others = [...found].filter(([other]) => other !== id && !(isGroup && other.startsWith("group:")));
    if (!isHidden(id)) return others.some(([other]) => !isHidden(other));
    const same = others.filter(([, texts]) => texts.has(title.toLowerCase()));
    return same.length < others.length && same.every(([other]) => isHidden(other));
  }

  forget(id) {
    for (const each of [...this.looks.get(id).values()].flat()) {
      const others = this.alike.get(each);
      others?.delete(id);
      if (others?.size === 0) this.alike.delete(each);
    }
    this.looks.delete(id);
  }

  titleOf(dialog) {
    if (dialog.type !== "private") {
      const title = cleanName(dialog.name) || t("group.unnamed");
      return this.isAlike(`group:${dialog.id}`, title, "") ? `${cut(title, BESIDE_MAX)} (${t("group")})` : title;
    }
    const other = this.otherOf(dialog);
    return other === this.parley.userId ? t("notes") : this.nameOf(other, undefined, dialog.user);
  }

  /** Returns the id of the other user of a private dialog; one's own in the dialog of notes. */
  otherOf(dialog) {
    if (dialog.type !== "private") return undefined;
    return dialog.user?.id ?? dialog.memberIds?.find((id) => id !== this.parley.userId) ?? this.parley.userId;
  }

  presence(id) {
    const presence = this.parley.presenceOf(id);
    return presence?.online && presence.availability !== "offline" ? presence : undefined;
  }

  /** Describes where somebody is: online, away, last seen. */
  presenceText(id) {
    const presence = this.presence(id);
    if (presence) return cleanName(presence.status) || t(`presence.${presence.availability}`);
    const seen = this.parley.presenceOf(id)?.lastSeenAt ?? this.user(id)?.lastSeenAt;
    return seen ? t("presence.seen", { time: moment(seen) }) : "";
  }

  // MARK: Pictures

  /**
   * The picture of a user or a dialog: theirs, or their initials on a colour of their own.
   *
   * @param {{ userId?: string, nick?: string, dialog?: import("../js/parley.js").Dialog, size?: number, presence?: boolean }} whose
   */
  avatar({ userId, nick, dialog, size, presence = false }) {
    if (dialog?.type === "private") userId = this.otherOf(dialog);
    const isGroup = !userId;
    const title = isGroup ? cleanName(dialog?.name) || "#" : this.plainNameOf(userId, nick, dialog?.user);
    const key = userId ?? dialog?.id ?? "";
    const hash = isGroup ? dialog?.avatarHash : this.user(userId, dialog?.user)?.avatarHash;
    const letters = [...title.replace(/[^\p{L}\p{N}\p{Extended_Pictographic} ]/gu, "")]
      .join("")
      .split(" ")
      .filter(Boolean);
    const initials =
      letters
        .slice(0, 2)
        .map((word) => [...word][0])
        .join("")
        .toLocaleUpperCase() || "?";
    let hue = 0;
    for (const character of key) hue = (hue * 31 + character.codePointAt(0)) % 360;
    const element = h(
      "span",
      {
        class: `avatar${isGroup ? " square" : ""}`,
        "aria-hidden": "true",
        style: { "--hue": hue, ...(size && { "--size": `${size}px` }) },
      },
      initials,
    );
    if (hash) {
      const load = () => (isGroup ? this.parley.dialogAvatar(dialog.id) : this.parley.userAvatar(userId));
      this.picture(`${key} ${hash}`, load, (address) => {
        element.replaceChildren(h("img", { src: address, alt: "" }), ...element.querySelectorAll(".presence"));
      });
    }
    const here = presence && userId && userId !== this.parley.userId && this.presence(userId);
    if (here) element.append(h("span", { class: "presence", data: { availability: here.availability } }));
    return element;
  }

  /** Fetches a picture once; it is shown only if it is of a type that browsers draw and scripts cannot be in. */
  picture(key, load, show) {
    const known = this.pictures.get(key);
    if (typeof known === "string") return show(known);
    const loading =
      known ??
      load()
        .then((blob) => {
          if (!blob || !/^image\/(png|jpeg|gif|webp)$/.test(blob.type)) return undefined;
          const address = URL.createObjectURL(blob);
          this.pictures.set(key, address);
          return address;
        })
        .catch(() => {
          this.pictures.delete(key);
        });
    if (!known) this.pictures.set(key, loading);
    loading.then((address) => address && show(address));
    return undefined;
  }
}
