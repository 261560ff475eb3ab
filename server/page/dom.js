/* dom.js - elements of the page by their id, changed only where something is different. */
export function byId(id) {
  return document.getElementById(id);
}

export function say(id, text) {
  const element = byId(id), words = String(text);
  if (element.textContent !== words) element.textContent = words;
  return element;
}

/* The height that page.css keeps free for what is drawn there, px. */
export function room(id) {
  return parseFloat(getComputedStyle(byId(id)).minHeight);
}

export function show(id, shown) {
  byId(id).hidden = !shown;
}

/* The children of a list are kept, each with its key, so that the focus stays where it is. */
export function keyed(list, keys, make) {
  const there = new Map(Array.from(list.children).map(child => [child.dataset.key, child]));
  const wanted = keys.map(key => there.get(key) || make(key));
  wanted.forEach((child, i) => {
    child.dataset.key = keys[i];
    if (list.children[i] !== child) list.insertBefore(child, list.children[i] || null);
  });
  while (list.children.length > wanted.length) list.lastChild.remove();
  return wanted;
}
