import { mountServerFigure } from "../../lib/server-figure.js";

/** @type {NodeListOf<HTMLElement>} */
const figures = document.querySelectorAll("[data-figure]");
figures.forEach(mountServerFigure);
