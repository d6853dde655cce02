// An ear of the test's own: hears what any AudioContext of the page sends to its destination, independent of the page's code.
// Installed before the page's scripts. window.ear.read() returns what was heard, as base64 PCM16 per context with its rate and start.
(() => {
  const recorder = `
    class Ear extends AudioWorkletProcessor {
      process([input]) {
        const channel = input[0];
        this.port.postMessage({ frame: currentFrame, samples: channel ? channel.slice() : new Float32Array(128) });
        return true;
      }
    }
    registerProcessor('test-ear', Ear);`;
  const url = URL.createObjectURL(new Blob([recorder], { type: 'text/javascript' }));
  const connect = AudioNode.prototype.connect;
  const heard = [];
  const ears = new WeakMap();
  const earOf = (context) => {
    if (!ears.has(context)) {
      const record = { rate: context.sampleRate, blocks: [], wallMs: [] };
      heard.push(record);
      const gain = new GainNode(context);
      ears.set(context, gain);
      context.audioWorklet.addModule(url).then(() => {
        const node = new AudioWorkletNode(context, 'test-ear', { numberOfOutputs: 1 });
        node.port.onmessage = ({ data }) => {
          record.blocks.push(data);
          if (record.blocks.length % 8 === 1) record.wallMs.push([data.frame, performance.timeOrigin + performance.now()]);
        };
        connect.call(gain, node);
        // The graph only runs what leads to a destination; the ear's own output is silence.
        connect.call(node, context.destination);
      });
    }
    return ears.get(context);
  };
  AudioNode.prototype.connect = function (target, ...rest) {
    const result = connect.call(this, target, ...rest);
    if (target instanceof AudioDestinationNode && this.context instanceof AudioContext) connect.call(this, earOf(this.context));
    return result;
  };
  const base64 = (samples) => {
    const pcm = new Int16Array(samples.length);
    for (let i = 0; i < samples.length; i++) pcm[i] = Math.max(-1, Math.min(1, samples[i])) * 32767;
    const bytes = new Uint8Array(pcm.buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    return btoa(text);
  };
  window.ear = {
    read() {
      return heard.map(({ rate, blocks, wallMs }) => {
        const first = blocks.length ? blocks[0].frame : 0;
        const length = blocks.length ? blocks.at(-1).frame + 128 - first : 0;
        const all = new Float32Array(length);
        for (const { frame, samples } of blocks) all.set(samples, frame - first);
        return { rate, firstFrame: first, pcm: base64(all), wallMs };
      });
    },
  };
})();
