// Plays the answer's sound while it is made: the page is given the newest pieces of PCM16 (24 kHz) with their numbers, and each is played once.
(() => {
  const RATE = 24000;
  let context = null, at = 0, answer = '', last = -1;
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
  const look = () => {
    const box = document.querySelector('#omnitalk-sound [data-answer]');
    if (!box) return;
    if (box.dataset.answer !== answer) {
      answer = box.dataset.answer;
      last = -1;
      // Another question was asked: what is left of the old answer is not wanted.
      context?.close();
      context = null;
      at = 0;
    }
    for (const piece of box.querySelectorAll('[data-piece]')) {
      const number = Number(piece.dataset.piece);
      if (number <= last) continue;
      last = number;
      play(piece.dataset.pcm);
    }
  };
  new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-answer', 'data-piece'] });
})();
