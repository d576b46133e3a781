/** The page of one checkpoint: its Gantt chart, slowest task first, the critical path marked. */

import { drawServed } from "../../lib/served-figures.js";
import { followJob } from "../archive/live.js";

drawServed();
followJob({ show: openNewest });

/**
 * Opens the newest checkpoint, whose page follows in its turn. Returns false where a note is being written.
 * @param {ArchiveNews} news @param {boolean} hasNewData
 */
function openNewest({ newest }, hasNewData) {
  if (!newest) return true;
  const job = document.getElementById("archive-live").dataset.job;
  const address = `/archive/${job}/checkpoints/${newest.pipeline}/${newest.number}`;
  if (address === location.pathname && !hasNewData) return true;
  if ([...document.querySelectorAll("textarea")].some(isInUse)) return false;
  location.replace(`${address}?follow=yes`);
  return true;
}

/** @param {HTMLTextAreaElement} field */
function isInUse(field) {
  return field === document.activeElement || field.value !== field.defaultValue;
}
