// Files of messages: pictures, videos, recordings, and all others. What the browser shows itself is of a few types that contain
// no scripts, and comes from this server; a file that is stored elsewhere is a link, so that nobody learns who reads what.

import { fill, h, name, svg } from "./dom.js";
import { bytes, duration, t } from "./i18n.js";
import { icons } from "./icons.js";
import { cleanFileName, safeAddress } from "./text.js";
import { attempt, copyPicture, tool } from "./ui.js";

const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const VIDEOS = /^video\/(mp4|webm|ogg)$/;
const SOUNDS = /^audio\/(mpeg|mp4|ogg|webm|wav|x-wav|aac|flac)$/;
const kindOf = (file) =>
  String(file.mediaType ?? "")
    .toLowerCase()
    .split(";")[0]
    .trim();

const isHere = (file) => Boolean(file.id) || String(file.url ?? "").startsWith("blob:");

/** Returns the files of a message that are shown as pictures. */
export const picturesOf = (message) =>
  (message.content.attachments ?? []).filter((file) => isHere(file) && PICTURES.test(kindOf(file)));

export function filesElement(app, message) {
  const files = message.content.attachments ?? [];
  const isSending = message.status === "storing" || message.status === "sending";
  const progress =
    isSending &&
    h(
      "div",
      {
        class: "progress",
        role: "progressbar",
        "aria-label": t("file.sending"),
        "aria-valuemin": 0,
        "aria-valuemax": 100,
        "aria-valuenow": Math.round((message.progress ?? 0) * 100),
      },
      h("span", { style: { width: `${(message.progress ?? 0) * 100}%` } }),
      tool("close", t("file.cancel"), () => attempt(() => app.parley.discard(message.clientId))),
    );
  const pictures = picturesOf(message);
  const others = files.filter((file) => !pictures.includes(file));
  return h(
    "div",
    { class: "files" },
    pictures.length > 0 &&
      h(
        "div",
        { class: `pictures count-${Math.min(pictures.length, 4)}` },
        pictures.map((file, index) => pictureOf(app, file, pictures, index)),
      ),
    others.map((file) => {
      if (isHere(file) && VIDEOS.test(kindOf(file)))
        return h("video", {
          class: "video",
          controls: true,
          preload: "metadata",
          playsinline: true,
          src: app.parley.fileUrl(file.url),
          "aria-label": cleanFileName(file.name),
        });
      if (isHere(file) && SOUNDS.test(kindOf(file))) return soundOf(app, file, message.content.waveform);
      return fileOf(app, file, isHere(file));
    }),
    progress,
  );
}

function pictureOf(app, file, all, index) {
  const shown =
    file.thumbnail?.url && all.length > 1
      ? file.thumbnail.url
      : file.size > 3_000_000 && file.thumbnail?.url
        ? file.thumbnail.url
        : file.url;
  const image = h("img", {
    src: app.parley.fileUrl(shown),
    alt: cleanFileName(file.name) || t("file.picture"),
    loading: "lazy",
    decoding: "async",
  });
  // The place is kept free before the bytes are there, so that nothing moves.
  const isKnown = file.width > 0 && file.height > 0;
  const style =
    all.length === 1 && isKnown
      ? {
          "aspect-ratio": `${file.width} / ${file.height}`,
          width: `${Math.round(Math.min(file.width, 380, 420 * (file.width / file.height)))}px`,
        }
      : {};
  image.addEventListener("error", () => image.replaceWith(h("span", { class: "soft" }, t("file.gone"))));
  return h(
    "button",
    {
      type: "button",
      class: "picture",
      style,
      "aria-label": t("file.open", { name: cleanFileName(file.name) || t("file.picture") }),
      on: { click: () => gallery(app, all, index) },
    },
    image,
  );
}

/** Shows pictures on the whole screen, one at a time. */
export function gallery(app, files, first) {
  let index = first;
  const picture = h("img", { alt: "" });
  const title = h("span", { class: "grow cut" });
  const download = h(
    "a",
    { class: "tool", download: "", "aria-label": t("file.download"), title: t("file.download") },
    svg(icons.arrowDown),
  );
  const copying = tool("copy", t("message.copyPicture"), () => copyPicture(app.parley.fileUrl(files[index].url)));
  const dialog = h("dialog", { class: "gallery", "aria-label": t("file.picture") });
  const show = (step) => {
    index = (index + step + files.length) % files.length;
    picture.src = download.href = app.parley.fileUrl(files[index].url);
    picture.alt = cleanFileName(files[index].name);
    fill(title, name(cleanFileName(files[index].name)));
  };
  fill(
    dialog,
    h(
      "header",
      {},
      title,
      copying,
      download,
      tool("close", t("close"), () => dialog.close()),
    ),
    picture,
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") show(1);
    else if (event.key === "ArrowLeft") show(-1);
  });
  document.body.append(dialog);
  show(0);
  dialog.showModal();
}

function fileOf(app, file, isHere) {
  const address = safeAddress(isHere ? app.parley.fileUrl(file.url) : file.url);
  const title = cleanFileName(file.name) || t("file.file");
  // The end of a long name stays visible: it says what the file is.
  const dot = title.lastIndexOf(".");
  const [stem, ending] = dot > 0 && title.length - dot < 12 ? [title.slice(0, dot), title.slice(dot)] : [title, ""];
  const host = !isHere && address && new URL(address).host;
  const content = [
    h("span", { class: "file-icon" }, svg(icons.file)),
    h(
      "span",
      { class: "grow" },
      h("bdi", { class: "file-name" }, h("span", { class: "cut" }, stem), h("span", {}, ending)),
      h(
        "span",
        { class: "note cut", style: { display: "block" } },
        [file.size && bytes(file.size), host && t("file.elsewhere", { host })].filter(Boolean).join(" · "),
      ),
    ),
  ];
  if (!address || address.startsWith("blob:")) return h("div", { class: "file" }, content);
  return h(
    "a",
    { class: "file", href: address, target: "_blank", rel: "noopener noreferrer", ...(isHere && { download: title }) },
    content,
  );
}

/** A recording with its waveform; a click on it goes there. */
function soundOf(app, file, waveform) {
  const audio = h("audio", { preload: "none", src: app.parley.fileUrl(file.url) });
  const levels =
    Array.isArray(waveform) && waveform.length
      ? waveform.map((level) => Math.max(0, Math.min(255, Number(level) || 0)))
      : Array(40).fill(90);
  const bars = Array.from({ length: 40 }, (_, index) => levels[Math.floor((index * levels.length) / 40)]);
  const time = h("span", { class: "note" }, duration(file.durationMs));
  const wave = h(
    "div",
    {
      class: "wave",
      role: "slider",
      tabindex: "0",
      "aria-label": t("audio.position"),
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": 0,
    },
    bars.map((level) => h("i", { style: { height: `${Math.max(12, (level / 255) * 100)}%` } })),
  );
  const play = tool(
    "play",
    t("audio.play"),
    () => {
      audio.paused ? audio.play().catch(() => {}) : audio.pause();
    },
    { class: "main" },
  );
  const length = () => (Number.isFinite(audio.duration) ? audio.duration : (file.durationMs ?? 0) / 1000);
  const draw = () => {
    const done = length() ? audio.currentTime / length() : 0;
    for (const [index, bar] of [...wave.children].entries()) bar.classList.toggle("done", index / 40 < done);
    wave.setAttribute("aria-valuenow", Math.round(done * 100));
    time.textContent = duration(audio.paused && !audio.currentTime ? file.durationMs : audio.currentTime * 1000);
    fill(play, svg(icons[audio.paused ? "play" : "pause"]));
    play.setAttribute("aria-label", t(audio.paused ? "audio.play" : "audio.pause"));
  };
  for (const event of ["play", "pause", "timeupdate", "ended"]) audio.addEventListener(event, draw);
  wave.addEventListener("click", (event) => {
    const box = wave.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    audio.currentTime = length() * (document.documentElement.dir === "rtl" ? 1 - part : part);
  });
  wave.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 5, ArrowLeft: -5 }[event.key];
    if (step) {
      audio.currentTime = Math.max(0, audio.currentTime + step);
      event.stopPropagation();
    }
  });
  return h("div", { class: "sound" }, play, wave, time, audio);
}
