"""Datasets of recorded deals as Parquet files (docs/record.md); pyarrow, extra `[record]`, is imported when needed."""

from belote_env.record.rows import play_deals
from belote_env.record.shards import DEALS_PER_SHARD, MANIFEST, check_pyarrow, position_at, record, shard_name, unpack

__all__ = [
    "DEALS_PER_SHARD",
    "MANIFEST",
    "check_pyarrow",
    "play_deals",
    "position_at",
    "record",
    "shard_name",
    "unpack",
]
