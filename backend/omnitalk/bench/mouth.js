// A microphone that plays /bench/chirps.wav from the moment a page opens it. Its sound begins in an audio graph, so the ear hears it where it
// begins; a browser's own microphone reaches a page's graph later than it reaches a peer connection.
(() => {
  const context = new AudioContext({ sampleRate: 48000 });
  const recording = fetch('/bench/chirps.wav').then((answer) => answer.arrayBuffer()).then((bytes) => context.decodeAudioData(bytes));
  navigator.mediaDevices.getUserMedia = async () => {
    const source = new AudioBufferSourceNode(context, { buffer: await recording });
    const out = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    source.connect(out);
    window.ear.listen(source);
    await context.resume();
    source.start();
    return out.stream;
  };
})();
