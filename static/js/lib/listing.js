/** Lists that are filtered and sorted in place: every request asks for what the form says now. */

const SORTS = "#list thead a";

// The address of a head was made with the list, and knows nothing of what was typed since. The order goes into the
// filter's form, so that a filter that is sent while the sorted list is on its way keeps the order.
document.body.addEventListener("htmx:configRequest", ({ detail }) => {
  if (!detail.elt.matches(SORTS)) return;
  const form = /** @type {any} */ (document.getElementById("filter"));
  form.elements.sort.value = new URLSearchParams(new URL(detail.elt.href).search).get("sort");
  detail.path = location.pathname;
  for (const [name, value] of new FormData(form)) detail.parameters[name] = value;
});
