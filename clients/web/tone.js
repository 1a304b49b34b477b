// The ringing tone, made of sine waves: nothing is loaded for it.

/** For one who is called: two rising chords, and a pause. `[frequency in Hz, begin, length in seconds]`. */
const INCOMING = {
  period: 3,
  level: 0.14,
  notes: [
    [659.3, 0, 0.45],
    [880, 0.16, 0.6],
    [659.3, 0.8, 0.45],
    [987.8, 0.96, 0.8],
  ],
};
/** For one who calls: the tone that telephones have in most of Europe. */
const OUTGOING = { period: 5, level: 0.05, notes: [[425, 0, 1]] };

/** Begins to ring. Returns what ends it. A browser that allows no sound before a gesture stays silent until there is one. */
export function ring(isIncoming) {
  if (!globalThis.AudioContext) return () => {};
  const { period, level, notes } = isIncoming ? INCOMING : OUTGOING;
  const context = new AudioContext();
  const play = () => {
    if (context.state !== "running") {
      context.resume().catch(() => {});
      return;
    }
    for (const [frequency, begin, length] of notes) {
      const at = context.currentTime + begin;
      const wave = new OscillatorNode(context, { frequency });
      const volume = new GainNode(context, { gain: 0 });
      // Without a slope at either end it would click.
      volume.gain.setValueAtTime(0, at);
      volume.gain.linearRampToValueAtTime(level, at + 0.02);
      volume.gain.setValueAtTime(level, at + length * (isIncoming ? 0.1 : 0.95));
      volume.gain.linearRampToValueAtTime(0, at + length);
      wave.connect(volume).connect(context.destination);
      wave.start(at);
      wave.stop(at + length);
    }
  };
  play();
  const timer = setInterval(play, period * 1000);
  return () => {
    clearInterval(timer);
    context.close().catch(() => {});
  };
}
