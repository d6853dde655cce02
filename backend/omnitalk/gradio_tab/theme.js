// Within our own page the demo wears that page's colours, also when a person changes them there.
(() => {
  if (window.parent === window) return;
  let outer;
  try {
    outer = window.parent.document.documentElement;
  } catch {
    return; // another site's page: its colours are not ours to read
  }
  const system = window.parent.matchMedia('(prefers-color-scheme: dark)');
  const paint = () => {
    const scheme = window.parent.getComputedStyle(outer).colorScheme;
    const dark = scheme === 'dark' || (scheme !== 'light' && system.matches);
    if (document.body && document.body.classList.contains('dark') !== dark) document.body.classList.toggle('dark', dark);
  };
  const watcher = new MutationObserver(paint);
  watcher.observe(outer, { attributes: true });
  system.addEventListener('change', paint);
  document.addEventListener('DOMContentLoaded', () => {
    paint();
    watcher.observe(document.body, { attributes: true, attributeFilter: ['class'] }); // gradio writes there too, when it starts
  });
})();
