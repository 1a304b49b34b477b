// A message in one line of text: for the list of dialogs, quotes, notifications, screen readers.

import { cleanFileName, cleanName, cleanText } from "./text.js";
import { duration, t } from "./i18n.js";

export function summary(app, message) {
  const { content } = message;
  const text = cleanText(content.text).replace(/\s+/g, " ").trim();
  const files = content.attachments ?? [];
  switch (content.type) {
    case "deleted":
      return t("message.deleted");
    case "system":
      return systemText(app, message);
    case "call":
      return t(content.missed ? "call.missed" : `call.${content.kind === "video" ? "video" : "audio"}`);
    case "encrypted":
      return t("message.encrypted");
    case "image":
      return text || t("file.pictures", { count: files.length });
    case "video":
      return text || t("file.video");
    case "audio":
      return text || t("file.audio", { length: duration(files[0]?.durationMs) });
    case "file":
      return text || cleanFileName(files[0]?.name) || t("file.file");
    case "location":
      return cleanName(content.name) || t("location");
    case "contact":
      return t("contact.shared", { name: cleanName(content.name ?? content.text) });
    default:
      return text;
  }
}

/** Tells a change of a dialog: in the user's language where its kind is known, else by the server's sentence. */
export function systemText(app, message) {
  const { content } = message;
  const by = message.senderId === app.parley.userId ? t("you") : app.people.nameOf(message.senderId);
  const who =
    content.userId &&
    (content.userId === app.parley.userId ? t("you") : app.people.nameOf(content.userId, content.nick));
  const kind = content.kind === "role" ? `role.${content.role}` : content.kind;
  const value = content.name ?? content.topic;
  const isEmpty = (content.kind === "named" || content.kind === "topic") && !value;
  return (
    t.optional(`system.${kind}${isEmpty ? ".none" : ""}`, {
      by,
      who: who ?? "",
      value: cleanName(value),
      role: content.role && t(`role.${content.role}`),
    }) ?? cleanText(content.text)
  );
}
