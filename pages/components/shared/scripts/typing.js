// Shared by the scripts of a page: where letters are text.
const isTextBox = (node) =>
  node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName));
const typingPanel = () => document.querySelector('[class*="st-key-type-here"]');
const isLetter = (event) => event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
const swallow = (event) => {
  event.stopImmediatePropagation();
  event.preventDefault();
};
