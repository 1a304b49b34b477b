// What opens a sheet for one message: forwarding, who has read it, a report.

import { fill, h, svg } from "./dom.js";
import { moment, t } from "./i18n.js";
import { icons } from "./icons.js";
import { editsSheet } from "./bubble.js";
import { dialogPicker } from "./list.js";
import { personItem } from "./newchat.js";
import { attempt, button, field, item, sheet, toast } from "./ui.js";

/** Forwards a message to a dialog, or to a contact with whom there is none yet. */
export function forwardSheet(app, message) {
  sheet(t("message.forward"), (close) =>
    dialogPicker(app, (open) =>
      attempt(async () => {
        const { id } = await open();
        await app.parley.send(id, { forwardFrom: { dialogId: message.dialogId, messageId: message.id } });
        close();
        app.openDialog(id);
      }),
    ),
  );
}

/** When a message was sent and changed, and who has received and read it, where the user may know. */
export function receiptsSheet(app, screen, message) {
  const seesEdits = message.senderId === app.parley.userId || (screen.isGroup && screen.isAdmin);
  sheet(t("message.info"), () => {
    const body = h("div", {}, h("p", { class: "soft" }, t("loading")));
    const others = [];
    const load = (cursor) =>
      app.parley.listReceipts(message.dialogId, message.id, { limit: 100, ...(cursor && { cursor }) }).then((page) => {
        others.push(...page.items.filter((each) => each.userId !== message.senderId));
        fill(
          body,
          others.map((each) =>
            personItem(app, each.userId, {
              given: screen.members.get(each.userId)?.nick,
              note: each.readAt
                ? t("info.readAt", { time: moment(each.readAt) })
                : each.read
                  ? t("status.read")
                  : each.delivered
                    ? t("status.delivered")
                    : t("status.sent"),
              tail: h(
                "span",
                { class: "status" },
                svg(icons[each.read || each.delivered ? "checks" : "check"], `icon ${each.read ? "read" : ""}`),
              ),
            }),
          ),
          page.nextCursor
            ? item("arrowDown", t("more"), () => attempt(() => load(page.nextCursor)))
            : others.length === 0 && h("p", { class: "soft" }, t("info.nobody")),
        );
      });
    load().catch(() => fill(body, h("p", { class: "soft" }, t("info.unknown"))));
    return [
      h("p", {}, t("info.sentAt", { time: moment(message.sentAt) })),
      message.editedAt &&
        h(
          "div",
          { class: "item" },
          svg(icons.edit),
          h("span", { class: "grow" }, t("info.editedAt", { time: moment(message.editedAt) })),
          seesEdits && button(t("message.edits"), () => editsSheet(app, message)),
        ),
      body,
    ];
  });
}

export function reportSheet(app, message) {
  sheet(t("message.report"), (close) => {
    const reason = (value) =>
      h(
        "label",
        { class: "choice" },
        h("input", { type: "radio", name: "reason", value, checked: value === "spam" }),
        t(`report.${value}`),
      );
    const words = field(t("report.text"), { maxlength: 1000 }, "textarea");
    const blocks = h("input", { type: "checkbox" });
    const isPerson = !message.senderId.startsWith("occupant:");
    return h(
      "form",
      {
        class: "sheet-body",
        style: { padding: "0" },
        on: {
          submit: (event) => {
            event.preventDefault();
            const chosen = new FormData(event.target).get("reason");
            attempt(async () => {
              await app.parley.report(message.dialogId, message.id, {
                reason: chosen,
                ...(words.input.value.trim() && { text: words.input.value.trim() }),
              });
              if (blocks.checked) await app.parley.block(message.senderId);
              close();
              toast(t("report.done"));
            });
          },
        },
      },
      reason("spam"),
      reason("abuse"),
      words.element,
      isPerson && h("label", { class: "choice" }, blocks, t("report.block")),
      h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(t("report.send"), undefined, "main")),
    );
  });
}
