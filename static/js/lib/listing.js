/** Lists that are filtered and sorted in place: every request asks for what the form says now. */

/** @type {Record<string, string>} */
const FORMS = { "#list thead a": "filter", "#archive-body thead a": "archive-filter" };

document.body.addEventListener("htmx:configRequest", ({ detail }) => {
  const { elt } = detail;
  if (elt.id === "list") detail.path = location.pathname + location.search;
  const form = Object.entries(FORMS).find(([heads]) => elt.matches(heads))?.[1];
  if (form) sort(detail, form);
});

/**
 * Asks for an order with what the form says. The address of a head was made with the list, and knows nothing of what
 * was typed since. The order goes into the form, so that a filter that is sent while the sorted list is on its way
 * keeps it.
 * @param {any} detail @param {string} id
 */
function sort(detail, id) {
  const form = /** @type {any} */ (document.getElementById(id));
  form.elements.sort.value = new URLSearchParams(new URL(detail.elt.href).search).get("sort");
  detail.path = location.pathname;
  for (const [name, value] of new FormData(form)) detail.parameters[name] = value;
}
