"""The requests of the table of who may do what, under the rule that each follows."""

# Written as they are asked. A name in braces is the number or text of a thing of access_world; a
# JSON object is the body of a call, or the fields of a form.
TABLE = {
    "public": """
GET /sign-in
GET /livez
GET /api/docs
GET /api/openapi.json
GET /static/css/base.css
""",
    "nothing": """
GET /api/
""",
    "probes": """
GET /healthz
GET /readyz
""",
    "by-link": """
POST /sign-in {"link": "http://testserver/sign-in/{sign_in}"}
GET /sign-in/{sign_in}
POST /sign-in/{sign_in}
GET /teams/join/{link}
POST /teams/join/{link}
GET /public/{public_token}
""",
    "operates": """
GET /metrics
GET /operator
GET /operator/people
GET /operator/people/{outsider}
POST /operator/people/{outsider}/limits {"collectors": "3"}
GET /operator/people/{outsider}/hand-over
POST /operator/people/{outsider}/hand-over {"to": "owner@quetzal.example"}
GET /operator/people/{outsider}/ACTION
POST /operator/people/{outsider}/ACTION
GET /operator/teams/{team}
POST /operator/teams/{team}/limits {"collectors": "3"}
GET /operator/audit
GET /operator/audit?format=csv
GET /api/table?page=/operator/audit&format=json
GET /api/operator/people
GET /api/operator/people/{outsider}
PATCH /api/operator/people/{outsider} {"is_operator": true}
DELETE /api/operator/people/{closed}
PATCH /api/operator/people/{outsider}/limits {"collectors": 3}
POST /api/operator/people/{outsider}/end-sessions
POST /api/operator/people/{outsider}/hand-over {"to": "owner@quetzal.example"}
GET /api/operator/teams
GET /api/operator/teams/{team}
PATCH /api/operator/teams/{team}/limits {"collectors": 3}
GET /api/operator/audit
GET /api/operator/health
""",
    "anyone": """
POST /sign-out
GET /account
GET /account/activity
POST /account/tokens {"name": "mine", "scope": "read"}
POST /account/sessions/end
GET /teams
POST /teams {"name": "another"}
GET /account/recorder/{recorder}
GET /account/notifications
POST /account/notifications/mail {"kinds": "job.failed"}
POST /account/notifications/webhooks {"url": "https://hooks.example.org/a", "kinds": "job.failed"}
GET /
GET /?team={team}
POST / {"file": "@log"}
GET /archive
GET /archive?team={team}
POST /archive {"url": "http://jobmanager:8081"}
POST /archive {"action": "take", "file": "@job"}
GET /topologies
GET /topologies?team={team}
GET /topologies/new
POST /topologies/drawing {"draft": "@draft"}
POST /topologies/new {"name": "pair", "document": "@topology"}
GET /mappings
GET /mappings?team={team}
GET /mappings/new
POST /mappings/new {"name": "spans", "action": "save", "process": "host", "kind": "event"}
GET /learn
GET /learn/side-by-side
GET /learn/rules
GET /learn/modes
GET /learn/process
GET /learn/process?seed=4&d=-.rac&why=1
POST /learn/rules?rule=late_markers&channel=A-%3EB
GET /jobs
GET /live
GET /api/live
GET /jobs?team={team}
GET /compare/two
GET /reviews
GET /reviews?team={team}
POST /reviews {"title": "Orders were lost"}
GET /follow-ups
GET /api/reviews
GET /api/reviews?team={team}
POST /api/reviews {"title": "Orders were lost"}
GET /api/follow-ups
GET /recordings/{sample}
GET /api/recordings
GET /api/recordings?team={team}
POST /api/recordings {"file": "@log"}
GET /api/uploads
OPTIONS /api/uploads
POST /api/uploads
POST /api/archive {"file": "@job"}
GET /api/recordings/{sample}
GET /api/archive
GET /api/archive?team={team}
GET /api/collectors
GET /api/collectors?team={team}
POST /api/collectors {"url": "http://jobmanager:8081"}
GET /api/marker-rules
GET /api/learn/side-by-side
GET /api/learn/broken-rule?rule=late_markers&at=A-%3EB
POST /api/learn/broken-rule?rule=late_markers&at=A-%3EB
GET /api/properties
GET /api/tables
GET /api/jobs
GET /api/jobs?team={team}
GET /api/topologies
GET /api/topologies?team={team}
POST /api/topologies {"name": "pair", "processes": [{"id": "A"}], "channels": []}
POST /api/topologies/import {"text": "@topology", "name": "pair"}
GET /api/mappings
GET /api/mappings?team={team}
POST /api/mappings {"name": "spans", "document": {"process": "host", "kind": "event"}}
POST /api/mappings/preview {"file": "@lines", "mapping": "@mapping"}
GET /api/account
GET /api/account/activity
GET /api/account/sessions
GET /api/account/tokens
GET /api/teams
POST /api/teams {"name": "another"}
GET /api/notifications/kinds
GET /api/notifications/mail
PUT /api/notifications/mail {"kinds": ["job.failed"]}
GET /api/webhooks
POST /api/webhooks {"url": "https://hooks.example.org/a", "kinds": ["job.failed"]}
""",
    "has": """
GET /api/uploads/{upload}
HEAD /api/uploads/{upload}
PATCH /api/uploads/{upload}
POST /api/uploads/{upload}
DELETE /api/uploads/{upload}
POST /account/tokens/{token}/revoke
POST /account/sessions/{session}/end
GET /account/notifications/webhooks/{webhook}
POST /account/notifications/webhooks/{webhook} {"url": "https://hooks.example.org/b"}
POST /account/notifications/webhooks/{webhook}/secret
POST /account/notifications/webhooks/{webhook}/test
POST /account/notifications/webhooks/{webhook}/deliveries/{delivery}/again
GET /account/notifications/webhooks/{webhook}/delete
POST /account/notifications/webhooks/{webhook}/delete
DELETE /api/account/sessions/{session}
DELETE /api/account/tokens/{token}
GET /api/webhooks/{webhook}
PATCH /api/webhooks/{webhook} {"is_on": false}
DELETE /api/webhooks/{webhook}
POST /api/webhooks/{webhook}/secret
POST /api/webhooks/{webhook}/test
GET /api/webhooks/{webhook}/deliveries
POST /api/webhooks/{webhook}/deliveries/{delivery}/again
DELETE /api/trail/{stop}
POST /api/trail/{stop}/keep {"text": "Look here."}
""",
    "shown": """
GET /recordings/{banks}
GET /api/recordings/{banks}/topology
GET /api/recordings/{banks}/snapshots
GET /api/recordings/{banks}/snapshots-in-brief
GET /api/recordings/{banks}/snapshots/s1
POST /api/recordings/{banks}/cuts {"step": 3}
GET /api/recordings/{banks}/window
GET /api/recordings/{banks}/frames?at=0
GET /api/recordings/{banks}/search?query=m1
GET /api/recordings/{banks}/events/A/0
GET /api/recordings/{banks}/cones/A/0
""",
    "read": """
GET /reviews/{review}
""",
    "sees": """
GET /v/{short}
POST /api/links {"address": "/recordings/{banks}?t=1"}
GET /api/links/{short}
GET /api/recordings/{banks}/links
GET /api/archive/{archived}/links
GET /api/teams/{team}/public-links
GET /teams/{team}
GET /recordings/{banks}/answer
GET /recordings/{banks}/original
GET /recordings/{banks}/defects
GET /recordings/{banks}/snapshots?id=s1
GET /recordings/{banks}/snapshots?format=csv
GET /api/table?page=/recordings/{banks}/snapshots&format=csv
POST /recordings/{banks}/snapshots?id=s1
GET /recordings/{banks}/snapshots/s1
POST /recordings/{banks}/snapshots/s1
GET /recordings/{banks}/checkpoints
GET /recordings/{banks}/plan
POST /recordings/{failing}/compare-failovers
GET /recordings/{flink}/contents
GET /recordings/{flink}/contents/1
GET /recordings/{flink}/contents/1/bytes
GET /recordings/{flink}/contents/check
GET /recordings/{flink}/contents/1/check
GET /recordings/{flink}/contents/1/difference?since=0
GET /recordings/{flink}/contents/1/difference/keys?since=0&OPERATOR
GET /recordings/{flink}/contents/1/restore?parallelism=3
GET /recordings/{flink}/contents/1/restore-plan?parallelism=3
GET /recordings/{flink}/contents/1/upgrade
POST /recordings/{flink}/contents/1/upgrade {"job": "[{\\"uid\\": \\"count\\"}]"}
GET /reviews/{review}/post-mortem
GET /recordings/{banks}/notes/document
GET /archive/{archived}/notes/document
GET /entries/{entry}
GET /recordings/{banks}/notes
GET /recordings/{banks}/with-notes
GET /archive/{archived}/notes
GET /archive/{archived}/with-notes
GET /entries/{entry}/history
GET /compare?recordings={failing},{failing}
GET /compare/two?left={banks}&right={banks}
GET /recordings/{banks}/restore?snapshot=s1
POST /recordings/{banks}/restore?snapshot=s1
GET /recordings/{banks}/proof?snapshot=s1
POST /recordings/{banks}/proof?snapshot=s1
GET /recordings/{late}/smallest-part?snapshot=s1
POST /recordings/{late}/smallest-part?snapshot=s1
GET /recordings/{late}/smallest-part/file?snapshot=s1
GET /recordings/{simulated}/side-by-side
GET /recordings/{simulated}/rules
GET /recordings/{modes}/modes
GET /recordings/{modes}/barriers
POST /recordings/{simulated}/rules?rule=late_markers&channel=A-%3EB
GET /recordings/{banks}/states?snapshot=s1
GET /recordings/{banks}/process-states?snapshot=s1
GET /recordings/{banks}/process-states?step=3
GET /recordings/{banks}/properties?property=conservation
GET /recordings/{banks}/predicates
POST /recordings/{banks}/predicates {"expression": "A == 9000"}
GET /recordings/{banks}/bisect?expression=A+%3C+9500
GET /archive/{archived}
GET /archive/{archived}/bisect
GET /archive/{archived}/compare
GET /archive/{archived}/checkpoints/0/1
GET /archive/{archived}/checkpoints/0/1/front
GET /topologies/{topology}
POST /topologies/{topology} {"name": "pair", "document": "@topology"}
GET /mappings/{mapping}
GET /THING/sharing
GET /jobs/{job}
GET /api/recordings/{banks}
GET /api/recordings/{open}/received
GET /api/recordings/{banks}/with-notes
GET /api/archive/{archived}/with-notes
GET /api/recordings/{banks}/defects
POST /api/recordings/{banks}/snapshots/s1/restore
POST /api/recordings/{banks}/snapshots/s1/reordering
GET /api/recordings/{banks}/knowledge?snapshot=s1
GET /api/recordings/{banks}/channel-counts?snapshot=s1
GET /api/recordings/{late}/smallest-part?snapshot=s1
POST /api/recordings/{late}/smallest-part {"snapshot": "s1"}
GET /api/recordings/{late}/smallest-part/file?snapshot=s1
GET /api/recordings/{banks}/answer
GET /api/recordings/{failing}/checkpoints
GET /api/recordings/{failing}/checkpoints/1
GET /api/recordings/{failing}/checkpoint-files
GET /api/recordings/{failing}/checkpoint-requests
GET /api/recordings/{failing}/failovers
GET /api/recordings/{flink}/contents
GET /api/recordings/{flink}/contents/files
GET /api/recordings/{flink}/contents/1
GET /api/recordings/{flink}/contents/1/entries?OPERATOR
GET /api/recordings/{flink}/contents/1/channels/0
GET /api/recordings/{flink}/contents/1/bytes
GET /api/recordings/{flink}/contents/1/queries
GET /api/recordings/{flink}/contents/1/bytes.csv
GET /api/recordings/{flink}/contents/0/compare/1?OPERATOR
GET /api/recordings/{flink}/contents/0/compare/1/keys?OPERATOR
GET /api/recordings/{flink}/contents/0/difference/1
GET /api/recordings/{flink}/contents/1/restore-plan?parallelism=3
GET /api/recordings/{flink}/contents/check
GET /api/recordings/{flink}/contents/1/check
GET /api/recordings/{flink}/contents/1/upgrade
POST /api/recordings/{flink}/contents/1/upgrade {"job": [{"uid": "count"}]}
GET /api/archive/{archived}
GET /api/archive/{archived}/overview
GET /api/archive/{archived}/checkpoints
GET /api/archive/{archived}/rescales
GET /api/archive/{archived}/checkpoints/0/1
GET /api/archive/{archived}/checkpoints/0/1/polls
GET /api/archive/{archived}/checkpoints/0/1/polls/1000
GET /api/archive/{archived}/compare?slow=2&healthy=1
GET /api/collectors/{collector}
GET /api/recordings/{banks}/states
GET /api/recordings/{banks}/states/0/occurrence?process=A&index=0
GET /api/recordings/{simulated}/side-by-side
GET /api/recordings/{simulated}/broken-rule?rule=late_markers&at=A-%3EB
POST /api/recordings/{simulated}/broken-rule?rule=late_markers&at=A-%3EB
GET /api/compare?left={banks}&right={banks}
GET /api/compare.csv?left={banks}&right={banks}
GET /api/compare/alignment?left={banks}&right={banks}
POST /api/recordings/{banks}/properties {"property": "conservation"}
POST /api/recordings/{banks}/bisect {"expression": "A < 9500"}
POST /api/archive/{archived}/bisect {"expression": "snapshot >= \\"1\\""}
POST /api/recordings/{banks}/predicates {"expression": "A == 9000"}
GET /api/jobs/{job}
GET /api/topologies/{topology}
POST /api/topologies/{topology}/simulate {"seed": 1}
GET /api/recordings/{banks}/place?place=snapshot:s1
GET /api/archive/{archived}/place?place=checkpoint:1:0
GET /api/recordings/{banks}/entries
GET /api/archive/{archived}/entries
GET /api/entries/{entry}
GET /api/entries/{entry}/history
GET /api/entries/{entry}/leftovers
GET /api/recordings/{banks}/trail
POST /api/recordings/{banks}/trail {"place": "snapshot:s1"}
DELETE /api/recordings/{banks}/trail
GET /api/archive/{archived}/trail
POST /api/archive/{archived}/trail {"place": "checkpoint:1:0"}
DELETE /api/archive/{archived}/trail
GET /api/reviews/{review}
GET /api/reviews/{review}/post-mortem
GET /api/recordings/{banks}/entries/document
GET /api/archive/{archived}/entries/document
GET /api/reviews/{review}/timeline
GET /api/reviews/{review}/timeline/{row}
GET /api/reviews/{review}/log
GET /api/mappings/{mapping}
GET /api/THING/sharing
GET /api/teams/{team}
""",
    "comments": """
POST /recordings/{banks}/notes {"text": "Why?", "kind": "question"}
POST /archive/{archived}/notes {"text": "Why?", "kind": "question"}
POST /reviews/{review}/change {"action": "add-all"}
POST /api/reviews/{review}/timeline/all
POST /entries/{entry}/change {"action": "answer", "text": "So."}
POST /entries/{entry}/change {"action": "resolve"}
POST /entries/{entry}/change {"action": "delete"}
POST /api/recordings/{banks}/entries {"text": "Why?"}
POST /api/archive/{archived}/entries {"text": "Why?"}
PATCH /api/entries/{entry} {"resolved": true}
DELETE /api/entries/{entry}
POST /api/entries/{entry}/answers {"text": "So."}
""",
    "wrote": """
POST /entries/{entry}/change {"action": "edit", "text": "Another text."}
PATCH /api/entries/{entry} {"text": "Another text."}
""",
    "commands": """
POST /api/recordings/{open}/system {"epoch": 0, "total": 0, "processes": []}
POST /api/recordings/{open}/orders {"action": "restore"}
""",
    "edits": """
POST /api/recordings/{open}/events {"kind": "crash", "process": "A", "index": 0}
POST /api/recordings/{open}/close
POST /live/{open} {"order": "restore"}
POST /v/{short}/delete
DELETE /api/links/{short}
POST /recordings/{banks}/public-links {"name": "vendor", "days": "7"}
POST /reviews/{review}/public-links {"name": "vendor"}
GET /api/reviews/{review}/public-links
POST /api/reviews/{review}/public-links {"name": "vendor"}
POST /public-links/{public}/withdraw
GET /api/recordings/{banks}/public-links
POST /api/recordings/{banks}/public-links {"name": "vendor"}
DELETE /api/public-links/{public}
POST / {"file": "@log", "team": {team}}
POST /archive {"url": "http://jobmanager:8081", "team": {team}}
POST /archive {"action": "take", "file": "@job", "team": {team}}
POST /reviews {"title": "Orders were lost", "team": {team}}
POST /reviews {"recording": {banks}, "review": {review}}
POST /reviews/{review}/change {"action": "words", "text": "They restarted it."}
POST /reviews/{review}/change {"action": "add {finding}"}
POST /api/reviews {"title": "Orders were lost", "team": {team}}
PATCH /api/reviews/{review} {"title": "Another", "revision": 99}
POST /api/reviews/{review}/people {"address": "viewer@quetzal.example"}
DELETE /api/reviews/{review}/people/{participant}
POST /api/reviews/{review}/exhibits {"recording": {banks}}
DELETE /api/reviews/{review}/exhibits/{exhibit}
POST /api/reviews/{review}/timeline {"text": "They restarted it."}
PATCH /api/reviews/{review}/timeline/{row} {"is_hidden": true}
DELETE /api/reviews/{review}/timeline/{row}
POST /topologies/new {"name": "pair", "document": "@topology", "team": {team}}
POST /mappings/new {"name": "spans", "action": "save", "process": "h", "kind": "e", "team": {team}}
GET /recordings/{banks}/rename
POST /recordings/{banks}/rename {"name": "better"}
GET /recordings/{banks}/delete
POST /recordings/{banks}/delete
POST /recordings/{banks}/again
POST /recordings/{open}/close
POST /entries/{finding}/change {"action": "resolve"}
POST /entries/{finding}/change {"action": "delete"}
GET /archive/{archived}/delete
POST /archive/{archived}/delete
POST /collectors/{collector}/change {"action": "stop"}
POST /collectors/{collector}/change {"action": "delete"}
GET /topologies/{topology}/delete
POST /topologies/{topology}/delete
POST /mappings/{mapping} {"name": "spans", "action": "save", "process": "h", "kind": "e"}
GET /mappings/{mapping}/delete
POST /mappings/{mapping}/delete
POST /THING/move {"team": ""}
POST /jobs/{job}/cancel
POST /api/recordings {"file": "@log", "team": {team}}
POST /api/archive {"file": "@job", "team": {team}}
PATCH /api/recordings/{banks} {"name": "better"}
DELETE /api/recordings/{banks}
POST /api/recordings/{banks}/ingest
DELETE /api/archive/{archived}
POST /api/collectors?team={team} {"url": "http://jobmanager:8081"}
PATCH /api/collectors/{collector} {"is_collecting": false}
DELETE /api/collectors/{collector}
POST /api/jobs/{job}/cancel
POST /api/topologies?team={team} {"name": "pair", "processes": [{"id": "A"}], "channels": []}
POST /api/topologies/import {"text": "@topology", "name": "pair", "team": {team}}
PUT /api/topologies/{topology} {"name": "pair", "processes": [{"id": "A"}], "channels": []}
DELETE /api/topologies/{topology}
POST /api/topologies/{topology}/simulate?team={team} {"seed": 1}
PATCH /api/entries/{finding} {"resolved": true}
DELETE /api/entries/{finding}
POST /api/mappings?team={team} {"name": "spans", "document": {"process": "h", "kind": "e"}}
PUT /api/mappings/{mapping} {"name": "spans", "document": {"process": "h", "kind": "e"}}
DELETE /api/mappings/{mapping}
POST /api/THING/move {"team": null}
""",
    "leads": """
GET /reviews/{review}/delete
POST /reviews/{review}/delete
DELETE /api/reviews/{review}
POST /teams/{team}/public-links {"allowed": "no"}
PUT /api/teams/{team}/public-links {"allowed": false}
POST /teams/{team}/rename {"name": "renamed"}
GET /teams/{spare}/delete
POST /teams/{spare}/delete
POST /teams/{team}/invite {"address": "grace@elsewhere.example", "role": "viewer"}
POST /teams/{team}/invitations/{invitation}/withdraw
POST /teams/{team}/people/{editor}/role {"role": "viewer"}
PATCH /api/teams/{team} {"name": "renamed"}
DELETE /api/teams/{spare}
POST /api/teams/{team}/invitations {"address": "grace@elsewhere.example", "role": "viewer"}
DELETE /api/teams/{team}/invitations/{invitation}
PATCH /api/teams/{team}/people/{editor} {"role": "viewer"}
""",
    "leaves": """
POST /teams/{team}/people/{viewer}/remove
DELETE /api/teams/{team}/people/{viewer}
""",
}
