"""Decide who may see and change what; no other module does.

A person sees what they own, what their teams own, and the samples. A sample has no owner and cannot
be changed. What a team owns can be changed by its editors and owners. A request for anything else
is refused with the same 404 as for something that does not exist. A ``Visitor``, who has no
account and follows a public link, sees what the link shows and nothing else, not even samples.

Callers ask this package: ``access.recording(user, 7)``. Its modules are the parts of the decision:

* ``roles``: what role a person has, and what it allows;
* ``seeing`` and ``changing``: which rows a person sees, and which of them they may change;
* ``belonging``: who belongs to a team, and who owns what a person makes;
* ``noting``: who writes notes and adds them to timelines;
* ``linking`` and ``publishing``: whose short links and public links these are, and which work;
* ``visiting``: what a visitor reaches.
"""

from snapshots.access.belonging import (
    MINE,
    editable_teams,
    holder,
    led_team,
    led_teams,
    membership,
    owned_by,
    run_holder,
    team,
    teams,
    webhook_holder,
)
from snapshots.access.changing import (
    led_review,
    own_collector,
    own_engine_job,
    own_job,
    own_mapping,
    own_recording,
    own_review,
    own_topology,
)
from snapshots.access.linking import may_delete_link, own_short_link, short_link, short_links
from snapshots.access.noting import (
    require_author,
    require_author_or_editor,
    require_commenter,
    require_contributor,
    require_curator,
)
from snapshots.access.publishing import (
    allows_public_links,
    forbids_public_links,
    public_link,
    public_links,
    public_links_that_last,
    public_links_that_work,
    require_public_links,
    shows_words,
    visitor_of_link,
    visitor_with_token,
    working_public_links,
)
from snapshots.access.roles import (
    holder_ids,
    holders,
    leads,
    may_change,
    may_comment,
    may_edit,
    require_operator,
    role,
)
from snapshots.access.seeing import (
    collector,
    collectors,
    engine_job,
    engine_jobs,
    hide_uploads,
    job,
    jobs,
    mapping,
    mappings,
    noted,
    owner_sees,
    readers,
    ready_recording,
    recording,
    recordings,
    require_ready,
    resumable_upload,
    resumable_uploads,
    review,
    reviews,
    same_files,
    shown_recording,
    shows_names,
    snapshot,
    topologies,
    topology,
    webhook,
    webhooks,
)
from snapshots.access.visiting import Visitor, may_visit
