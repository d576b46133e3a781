/** The snapshot page: a figure of when each process recorded. The card of a restore follows its job. */

import "../jobs/job.js";
import { drawServed } from "../../lib/served-figures.js";

drawServed();
