import { ParleyError, aborted } from "./errors.js";
import { delay } from "./connection.js";
import { isBytes } from "./requests.js";

const PART_MIN = 256 * 1024;
const PART_MAX = 8 * 1024 * 1024;
const ATTEMPTS_MAX = 8;

/** Returns bytes with a name and type, whatever form they were given in. */
export function asFile(input) {
  const file = isBytes(input) ? { data: input } : { ...input };
  if (!isBytes(file.data))
    throw new ParleyError("input-malformed", "A file is a Blob, or has `data`.", { field: "files" });
  file.name ||= file.data.name || "file";
  file.mediaType ||= file.data.type || "application/octet-stream";
  file.size = file.data.size ?? file.data.length;
  return file;
}

/** The type of content for files: that of the first, if all have it. */
export function typeOf(files) {
  const types = new Set(files.map(({ mediaType }) => /^(image|video|audio)\//.exec(mediaType)?.[1] ?? "file"));
  return types.size === 1 ? [...types][0] : "file";
}

/**
 * @typedef {object} UploadOptions
 * @property {AbortSignal} [signal]
 * @property {(done: number, total: number) => void} [onProgress]
 * @property {"message" | "profile"} [purpose]
 * @property {{ upload?: any }} [slot]
 * @property {() => Promise<void>} [onSlot] Called when `slot` has changed.
 */

/**
 * Uploads a file: one part after the other, each continued where the server has it (the IETF's draft on resumable uploads). `slot`
 * keeps the slot, so that an upload continues after a restart.
 *
 * @param {import("./core.js").Core} client
 * @param {import("./parley.js").FileInput} input
 * @param {UploadOptions} options
 */
export async function upload(client, input, { signal, onProgress, purpose, slot = {}, onSlot } = {}) {
  const { data, name, mediaType, size, width, height, durationMs } = asFile(input);
  const isResumed = slot.upload !== undefined;
  slot.upload ??= await client.request("POST", "/attachments", {
    signal,
    body: { name, mediaType, size, width, height, durationMs, purpose, resumable: true },
  });
  await onSlot?.();
  const { requests } = client;
  const url = client.fileUrl(slot.upload.uploadUrl);
  const part = Math.min(PART_MAX, Math.max(PART_MIN, Math.ceil(size / 40)));
  let offset = 0,
    isKnown = !isResumed,
    attempts = 0;
  const cancel = () => requests.once("DELETE", url, {}).catch(() => {});
  for (;;) {
    if (signal?.aborted) {
      cancel();
      throw aborted();
    }
    try {
      if (!isKnown) {
        const headers = await requests.once("HEAD", url, { signal });
        offset = Number(headers.get("Upload-Offset"));
        isKnown = true;
        if (headers.get("Upload-Complete") === "?1") break;
      }
      onProgress?.(offset, size);
      const end = Math.min(size, offset + part);
      await requests.once("PATCH", url, {
        signal,
        body: data.slice(offset, end),
        headers: {
          "Content-Type": "application/partial-upload",
          "Upload-Offset": String(offset),
          "Upload-Complete": end === size ? "?1" : "?0",
        },
      });
      attempts = 0;
      offset = end;
      if (end === size) break;
    } catch (error) {
      if (error.code === "aborted") {
        cancel();
        throw error;
      }
      const isOver = error.code === "upload-unknown" || error.code === "upload-late";
      if (isOver && isResumed) {
        // The slot from before a restart has expired.
        delete slot.upload;
        return upload(client, input, { signal, onProgress, purpose, slot, onSlot });
      }
      const isElsewhere = error.code === "upload-offset-mismatch";
      if (!isElsewhere && (!error.temporary || ++attempts >= ATTEMPTS_MAX)) throw error;
      isKnown = false;
      if (!isElsewhere) await client.pause(error.retryAfter ? error.retryAfter * 1000 : delay(attempts), false);
    }
  }
  onProgress?.(size, size);
  const { uploadUrl, uploadUntil, ...attachment } = slot.upload;
  return attachment;
}
