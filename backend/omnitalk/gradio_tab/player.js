// Plays the answer's sound while it is made: the page is given the newest pieces of PCM16 (24 kHz) with their numbers, and each is played once.
(() => {
  const RATE = 24000;
  let context = null, at = 0, answer = '', last = -1, hushed = false;
  const silence = () => {
    context?.close();
    context = null;
    at = 0;
  };
  const play = (text) => {
    context ??= new AudioContext({ sampleRate: RATE });
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const pcm = new Int16Array(bytes.buffer, 0, bytes.length >> 1);
    if (pcm.length === 0) return;
    const buffer = context.createBuffer(1, pcm.length, RATE);
    const channel = buffer.getChannelData(0);
    for (let i = 0; i < pcm.length; i++) channel[i] = pcm[i] / 32768;
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(context.destination);
    at = Math.max(at, context.currentTime + 0.05);
    source.start(at);
    at += buffer.duration;
    window.omnitalkPlayed = (window.omnitalkPlayed ?? 0) + buffer.duration;
  };
  // What is left of this answer is not wanted, neither what has come nor what is to come.
  window.omnitalkHush = () => {
    hushed = true;
    silence();
  };
  // For tests: seconds of sound that are still to be heard.
  window.omnitalkAhead = () => (context ? Math.max(0, at - context.currentTime) : 0);
  const look = () => {
    const box = document.getElementById('omnitalk-sound');
    const now = box?.querySelector('[data-answer]')?.dataset.answer ?? '';
    if (now !== answer) {
      // Another question was asked, or the conversation was put away.
      answer = now;
      last = -1;
      hushed = false;
      silence();
    }
    for (const piece of box?.querySelectorAll('[data-piece]') ?? []) {
      const number = Number(piece.dataset.piece);
      if (number <= last) continue;
      last = number;
      if (!hushed) play(piece.dataset.pcm);
    }
  };
  new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-answer', 'data-piece'] });
})();
