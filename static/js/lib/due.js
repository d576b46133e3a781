/** The day on which a follow-up is due: a note of another kind is sent without the day, whose field is not shown. */

document.addEventListener("formdata", ({ target, formData }) => {
  /** @type {HTMLElement | null} */
  const day = /** @type {HTMLFormElement} */ (target).querySelector(".entry-due");
  if (day && !day.offsetParent) formData.delete("due_on");
});
