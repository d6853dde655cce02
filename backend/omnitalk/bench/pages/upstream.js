// What a user would pick instead, written for comparison only: microphone sound gathered by a 200 ms timer of the page and sent as base64 JSON, replies
// held for 400 ms before the first sample and again after running dry. Timings as in vLLM-Omni's example page.
const SEND_EVERY_MS = 200;
const START_BUFFER_MS = 400;

async function call() {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const capture = new AudioContext({ sampleRate: 16000 });
  const playback = new AudioContext({ sampleRate: 24000 });
  await capture.audioWorklet.addModule('upstream.worklet.js');
  await playback.audioWorklet.addModule('upstream.worklet.js');
  const microphone = new AudioWorkletNode(capture, 'upstream-capture', { numberOfOutputs: 0 });
  const speaker = new AudioWorkletNode(playback, 'upstream-playback', { processorOptions: { startFrames: (24000 * START_BUFFER_MS) / 1000 } });
  speaker.connect(playback.destination);
  window.underruns = 0;
  speaker.port.onmessage = () => window.underruns++;

  const url = new URL('../v1/realtime?duplex=1&autostart=0', location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url);
  socket.onopen = () => socket.send(JSON.stringify({ type: 'session.update', session: { modalities: ['audio', 'text'] } }));
  let gathered = [];
  microphone.port.onmessage = ({ data }) => gathered.push(data);
  let timer = 0;
  socket.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.type === 'session.created') {
      capture.createMediaStreamSource(stream).connect(microphone);
      timer = setInterval(() => {
        const bytes = new Uint8Array(gathered.reduce((sum, each) => sum + each.byteLength, 0));
        let at = 0;
        for (const each of gathered) bytes.set(new Uint8Array(each.buffer), (at += each.byteLength) - each.byteLength);
        gathered = [];
        if (bytes.length) socket.send(JSON.stringify({ type: 'input_audio_buffer.append', audio: btoa(String.fromCharCode(...bytes)) }));
      }, SEND_EVERY_MS);
      window.live = true;
    } else if (event.type === 'response.output_audio.delta') {
      const text = atob(event.delta);
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      speaker.port.postMessage(new Int16Array(bytes.buffer));
    }
  };
  socket.onclose = () => clearInterval(timer);
}

document.getElementById('call').onclick = () => void call();
