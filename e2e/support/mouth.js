// A microphone that says what the test tells it to, when it tells it to. Installed before the page's scripts.
(() => {
  const context = new AudioContext({ sampleRate: 48000 });
  const out = new MediaStreamAudioDestinationNode(context);
  // A floor that is not digital silence, as of any real microphone (-80 dBFS).
  const hiss = new AudioBufferSourceNode(context, { buffer: context.createBuffer(1, 48000, 48000), loop: true });
  const noise = hiss.buffer.getChannelData(0);
  for (let i = 0; i < noise.length; i++) noise[i] = (Math.random() * 2 - 1) * 1e-4;
  hiss.connect(out);
  hiss.start();
  const devices = navigator.mediaDevices;
  const original = devices.getUserMedia.bind(devices);
  devices.getUserMedia = async (constraints) => {
    if (!constraints?.audio) return original(constraints);
    await context.resume();
    return out.stream.clone();
  };
  window.mouth = {
    async say(base64) {
      const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
      const pcm = new Int16Array(bytes.buffer);
      const buffer = context.createBuffer(1, pcm.length, 48000);
      const channel = buffer.getChannelData(0);
      for (let i = 0; i < pcm.length; i++) channel[i] = pcm[i] / 32768;
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(out);
      await context.resume();
      source.start();
      await new Promise((done) => (source.onended = done));
    },
  };
})();
