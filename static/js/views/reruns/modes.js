/** The page that compares modes: its figure, with one cursor through all panels. */

import { drawServed } from "../../lib/served-figures.js";

drawServed();
