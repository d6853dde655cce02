// An ear of the test's own: hears what any AudioContext of the page sends to its destination and, where a test tells it to `listen`, a
// microphone's source, independent of the page's code. Installed before the page's scripts. window.ear.read() returns, per context, both as
// base64 PCM16 with rate and clock.
(() => {
  const recorder = `
    class Ear extends AudioWorkletProcessor {
      process([output, microphone]) {
        const copy = (input) => (input[0] ? input[0].slice() : null);
        this.port.postMessage({ frame: currentFrame, samples: copy(output), microphone: copy(microphone) });
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
      const ear = { output: new GainNode(context), microphone: new GainNode(context) };
      ears.set(context, ear);
      context.audioWorklet.addModule(url).then(() => {
        const node = new AudioWorkletNode(context, 'test-ear', { numberOfInputs: 2, numberOfOutputs: 1 });
        node.port.onmessage = ({ data }) => {
          record.blocks.push(data);
          if (record.blocks.length % 8 === 1) record.wallMs.push([data.frame, performance.timeOrigin + performance.now()]);
        };
        connect.call(ear.output, node, 0, 0);
        connect.call(ear.microphone, node, 0, 1);
        // The graph only runs what leads to a destination; the ear's own output is silence.
        connect.call(node, context.destination);
      });
    }
    return ears.get(context);
  };
  AudioNode.prototype.connect = function (target, ...rest) {
    const result = connect.call(this, target, ...rest);
    if (target instanceof AudioDestinationNode && this.context instanceof AudioContext) connect.call(this, earOf(this.context).output);
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
  const joined = (blocks, name) => {
    const first = blocks.length ? blocks[0].frame : 0;
    const all = new Float32Array(blocks.length ? blocks.at(-1).frame + 128 - first : 0);
    for (const block of blocks) if (block[name]) all.set(block[name], block.frame - first);
    return base64(all);
  };
  window.ear = {
    listen: (source) => connect.call(source, earOf(source.context).microphone),
    read: () =>
      heard.map(({ rate, blocks, wallMs }) => ({
        rate, wallMs, firstFrame: blocks.length ? blocks[0].frame : 0, pcm: joined(blocks, 'samples'), microphone: joined(blocks, 'microphone'),
      })),
  };
})();
