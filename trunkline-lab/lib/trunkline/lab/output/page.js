// Tells what a point or a bar is, to the pointer and to the keyboard alike; Escape hides it.
(() => {
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (mark) => {
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const left = Math.min(box.left + box.width / 2 + 12, innerWidth - tip.offsetWidth - 8);
    const top = box.top - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${top < 8 ? box.bottom + 6 : top}px`;
  };
  for (const mark of document.querySelectorAll("[data-tip]")) {
    mark.addEventListener("pointerenter", () => show(mark));
    mark.addEventListener("focus", () => show(mark));
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("blur", hide);
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
  // A mark that gets the focus may be scrolled into view by that, and keeps its words.
  addEventListener("scroll", () => {
    const focused = document.activeElement;
    if (!tip.hidden && focused?.dataset.tip === tip.textContent) show(focused);
    else hide();
  }, { passive: true });
})();
