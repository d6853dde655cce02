/** Offers text as a file to keep. @param {string} name @param {string} type @param {string} text */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = document.createElement("a");
  link.href = url;
  link.download = `omnitalk-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}-${name}`;
  link.click();
  URL.revokeObjectURL(url);
}
