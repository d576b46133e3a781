/** The page of a plan: a picture of each start. */

import { drawServed } from "../../lib/served-figures.js";

drawServed();
