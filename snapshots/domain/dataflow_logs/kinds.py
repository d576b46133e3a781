"""The kinds of events that dataflow engines log, beside those of every distributed system.

docs/formats/dataflow-events.md describes their fields. READ and WRITE change the state of their
process, as a send does; all others leave it as it was.
"""

READ = "read"
WRITE = "write"

CP_REQUEST = "cp_request"
CP_DECISION = "cp_decision"
CP_TRIGGER = "cp_trigger"
CP_COMPLETE = "cp_complete"
CP_ABORT = "cp_abort"
CP_NOTIFY = "cp_notify"
JOB_FAIL = "job_fail"
COORDINATOR_KINDS = (
    CP_REQUEST,
    CP_DECISION,
    CP_TRIGGER,
    CP_COMPLETE,
    CP_ABORT,
    CP_NOTIFY,
    JOB_FAIL,
)

BLOCK = "block"
UNBLOCK = "unblock"
ANNOUNCE = "announce"
ALIGN_END = "align_end"
ALIGN_ABORT = "align_abort"
SWITCH_UNALIGNED = "switch_unaligned"
OVERTAKEN_OUT = "overtaken_out"
CANCEL_OUT = "cancel_out"
CANCEL_IN = "cancel_in"
SNAP_ASYNC = "snap_async"
CP_ACK = "cp_ack"
CP_DECLINE = "cp_decline"
CP_NOTIFIED = "cp_notified"
TX_BEGIN = "tx_begin"
TX_PRECOMMIT = "tx_precommit"
TX_COMMIT = "tx_commit"
TX_ABORT = "tx_abort"
TX_RECOVER_COMMIT = "tx_recover_commit"
TX_TIMEOUT = "tx_timeout"
END = "end"
FINISH = "finish"
RESTART = "restart"
TASK_KINDS = (
    BLOCK,
    UNBLOCK,
    ANNOUNCE,
    ALIGN_END,
    ALIGN_ABORT,
    SWITCH_UNALIGNED,
    OVERTAKEN_OUT,
    CANCEL_OUT,
    CANCEL_IN,
    SNAP_ASYNC,
    CP_ACK,
    CP_DECLINE,
    CP_NOTIFIED,
    TX_BEGIN,
    TX_PRECOMMIT,
    TX_COMMIT,
    TX_ABORT,
    TX_RECOVER_COMMIT,
    TX_TIMEOUT,
    END,
    FINISH,
    RESTART,
)

CP_STORED = "cp_stored"
SPLIT_RETURNED = "split_returned"
SEATUNNEL_KINDS = (CP_STORED, SPLIT_RETURNED)

BATCH_PLAN = "batch_plan"
TASK_END = "task_end"
SINK_WRITE = "sink_write"
BATCH_COMMIT = "batch_commit"
SPARK_KINDS = (BATCH_PLAN, TASK_END, SINK_WRITE, BATCH_COMMIT)

EPOCH = "epoch"
"""The ``type`` in the trigger of an epoch of continuous mode, which ends at its markers."""

WATERMARK = "watermark"
WATERMARK_IN = "watermark_in"
LATE = "late"
EVENT_TIME_KINDS = (WATERMARK, WATERMARK_IN, LATE)

SCHEMA_STOP = "schema_stop"
SCHEMA_OUT = "schema_out"
SCHEMA_IN = "schema_in"
SCHEMA_APPLY = "schema_apply"
SCHEMA_RESUME = "schema_resume"
SCHEMA_KINDS = (SCHEMA_STOP, SCHEMA_OUT, SCHEMA_IN, SCHEMA_APPLY, SCHEMA_RESUME)

DATAFLOW_KINDS = (
    READ,
    WRITE,
    *COORDINATOR_KINDS,
    *TASK_KINDS,
    *SEATUNNEL_KINDS,
    *SPARK_KINDS,
    *EVENT_TIME_KINDS,
    *SCHEMA_KINDS,
)
"""All kinds in a fixed order. New ones go to the end, because stores number the kinds."""
