// Recording a voice message, with the levels that its waveform shows.

/** The most levels of a waveform that the server takes. */
const LEVELS = 200;
/** The end of a recording that nobody ends, in milliseconds. */
const LONGEST = 15 * 60_000;

/** Begins to record. Throws if the browser or the user does not allow it. */
export async function record(onLevel) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const type = ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus"].find((each) =>
    MediaRecorder.isTypeSupported(each),
  );
  const recorder = new MediaRecorder(stream, type ? { mimeType: type } : {});
  const pieces = [];
  const levels = [];
  const started = performance.now();
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Uint8Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getByteTimeDomainData(samples);
    const level = Math.min(255, Math.max(...samples.map((sample) => Math.abs(sample - 128))) * 2);
    levels.push(level);
    onLevel(level, performance.now() - started);
    if (performance.now() - started > LONGEST) recorder.stop();
  }, 100);
  recorder.addEventListener("dataavailable", (event) => pieces.push(event.data));
  const ended = new Promise((resolve) => recorder.addEventListener("stop", resolve, { once: true }));
  recorder.start();

  async function stop() {
    if (recorder.state !== "inactive") recorder.stop();
    await ended;
    clearInterval(timer);
    for (const track of stream.getTracks()) track.stop();
    await context.close();
  }

  return {
    cancel: stop,
    /** Ends the recording, and returns it as the SDK sends it. */
    async finish() {
      const durationMs = Math.round(performance.now() - started);
      await stop();
      const mediaType = (recorder.mimeType || "audio/webm").split(";")[0];
      const extension = mediaType.split("/")[1];
      const step = Math.max(1, Math.ceil(levels.length / LEVELS));
      const waveform = levels
        .filter((_, index) => index % step === 0)
        .slice(0, LEVELS)
        .map(Math.round);
      return {
        content: { type: "audio", ...(waveform.length && { waveform }) },
        files: [{ data: new Blob(pieces, { type: mediaType }), name: `recording.${extension}`, mediaType, durationMs }],
      };
    },
  };
}
