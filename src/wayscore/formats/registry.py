"""The formats that wayscore reads by itself, by name; those of other packages come besides (`base.choose`)."""

from wayscore.formats.base import Format
from wayscore.formats.ndh import NDH_FORMAT
from wayscore.formats.r2r import R2R_FORMAT, R4R_FORMAT
from wayscore.formats.recorder import RECORDER_FORMAT
from wayscore.formats.reverie import REVERIE_FORMAT
from wayscore.formats.rxr import RXR_FORMAT
from wayscore.formats.street import STREET_FORMAT
from wayscore.formats.table import TABLE_FORMAT
from wayscore.formats.vlnce import VLNCE_FORMAT

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        R2R_FORMAT,
        R4R_FORMAT,
        RXR_FORMAT,
        NDH_FORMAT,
        REVERIE_FORMAT,
        VLNCE_FORMAT,
        STREET_FORMAT,
        RECORDER_FORMAT,
        TABLE_FORMAT,
    )
}
