"""Payloads of the question whether everything is there that a restore reads."""

from snapshots.domain.inventory import restore_check
from snapshots.payloads.declaring import many, payload_of

payload_of(restore_check.NeededFile, "NeededFileItem")
payload_of(restore_check.AbsentFile, "AbsentFileItem")
payload_of(restore_check.UnneededFile, "UnneededFileItem")
RestoreCheckDetail = payload_of(restore_check.RestoreCheck, "RestoreCheckDetail")
RestoreCheckSummary = payload_of(
    restore_check.RestoreCheck, "RestoreCheckSummary", without=["files"]
)
UploadCheckDetail = payload_of(
    restore_check.UploadCheck,
    "UploadCheckDetail",
    more={
        "checks": many(
            RestoreCheckSummary,
            "The answers, in the order of the upload's checkpoints; then checkpoints that the "
            "upload's list lacks. The files of each are under `/contents/N/check`.",
        )
    },
)
