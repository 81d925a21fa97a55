"""Writes the Parquet files of the tests, with pyarrow 26.0.1: python3 make.py FOLDER."""

import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

FOLDER = Path(sys.argv[1])
ROWS = range(40)
START = datetime(2015, 3, 9, 23, 32, tzinfo=timezone.utc)


def write(name, columns, **options):
    pq.write_table(pa.table(columns), place(name, "parquet"), **options)


def write_both(name, columns, **options):
    write(name, columns, **options)
    csv.write_csv(pa.table(columns), place(name, "csv"), csv.WriteOptions(quoting_style="needed"))


def place(name, ending):
    path = FOLDER / f"{name}.{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


users = [f"u{row % 7}" for row in ROWS]
items = [f"film {row % 11}" for row in ROWS]
ratings = [(row % 9 + 1) / 2 for row in ROWS]
times = [START + timedelta(minutes=row) for row in ROWS]
seconds = [int(time.timestamp()) for time in times]
usual = {
    "review": ["a text,\nof two lines"] * len(ROWS),
    "movieId": items,
    "timestamp": pa.array(seconds, pa.int64()),
    "userId": users,
    "rating": pa.array(ratings, pa.float64()),
}

write_both("packings/none", {name: usual[name] for name in usual if name != "review"})

# Ways to pack and to encode; several row groups, pages of few rows.
for codec in ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]:
    write(f"packings/{codec}", usual, compression=codec, row_group_size=15, data_page_size=64)
plain = {"use_dictionary": False, "compression": "none"}
write(
    "packings/delta",
    usual,
    **plain,
    version="2.6",
    data_page_version="2.0",
    column_encoding={
        "review": "PLAIN",
        "movieId": "DELTA_BYTE_ARRAY",
        "userId": "DELTA_LENGTH_BYTE_ARRAY",
        "timestamp": "DELTA_BINARY_PACKED",
        "rating": "BYTE_STREAM_SPLIT",
    },
)
write("packings/pages-of-version-2", usual, data_page_version="2.0", compression="zstd")

# Types of ids, ratings and times.
write_both(
    "types/integers",
    {
        "user_id": pa.array([2**60 + row % 7 for row in ROWS], pa.int64()),
        "item_id": pa.array([row % 11 for row in ROWS], pa.uint16()),
        "rating": pa.array([row % 5 + 1 for row in ROWS], pa.int8()),
        "ts": pa.array(times, pa.timestamp("ns", tz="UTC")),
    },
)
write_both(
    "types/floats",
    {
        "user_id": pa.array([None if row == 3 else float(row % 7) for row in ROWS], pa.float64()),
        "item_id": pa.array(items).dictionary_encode(),
        "score": pa.array([row / 10 for row in ROWS], pa.float32()),
        "time": pa.array(times, pa.timestamp("us")),
    },
)
write_both(
    "types/decimals",
    {
        "user_id": pa.array([Decimal(10**30 + row % 7) for row in ROWS], pa.decimal128(38, 0)),
        "item_id": pa.array([Decimal(row % 11) for row in ROWS], pa.decimal128(9, 0)),
        "rating": pa.array([Decimal(row - 20) / 4 for row in ROWS], pa.decimal128(10, 2)),
        "date": pa.array([time.date() for time in times], pa.date32()),
    },
    store_decimal_as_integer=False,
)
write_both(
    "types/of-spark",
    {
        "user_id": pa.array(users),
        "item_id": pa.array(items),
        "rating": pa.array([Decimal(row) / 4 for row in ROWS], pa.decimal128(10, 2)),
        "time": pa.array(times, pa.timestamp("ns")),
    },
    use_deprecated_int96_timestamps=True,
    store_decimal_as_integer=True,
)
write_both(
    "types/events",
    {
        "visitorid": users,
        "itemid": items,
        "event": ["view", "cart"] * 20,
        "liked": [row % 3 > 0 for row in ROWS],
    },
)
write("types/names-are-numbers", {"0": ["1", "2"], "1": ["7", "8"], "2": ["4", "5"]})

# Rows that are no ratings.
write(
    "others/nulls",
    {
        "user": ["ada", None, "bob", "", "eve", 'a "quoted", name'],
        "item": ["x", "y", None, "z", "w", "v"],
        "rating": pa.array([1.5, 2, 3, 4, None, 5], pa.float64()),
        "timestamp": pa.array([None, 1, 1, 1, 1, 1425943920000], pa.timestamp("ms")),
    },
)
write("others/line-breaks", {"user": ["a\nb", "c"], "item": ["x", "y"], "rating": [1.0, 2.0]})
write(
    "others/latin-1",
    {
        "user": pa.array(["zoé".encode("latin-1"), b"ada"], pa.binary()),
        "item": ["x", "y"],
        "rating": [1.0, 2.0],
    },
)
write("types/early", {"user": ["a"], "item": ["x"], "rating": [1.0], "time": pa.array([60_000], pa.timestamp("ms"))})
write("others/empty", {"user": pa.array([], pa.string()), "item": pa.array([], pa.string()), "rating": pa.array([], pa.float32())})

# Columns that are not read.
nested = {
    "user": ["a", "b"],
    "item": ["x", "y"],
    "rating": [1.0, 2.0],
    "genres": [["drama", "war"], []],
    "box": [{"low": 1}, {"low": 2}],
}
write("others/nested", nested)
write("others/nested-item", {"user": ["a"], "item": [["x", "y"]], "rating": [1.0]})
write("others/clock", {"user": ["a"], "item": ["x"], "rating": [1.0], "time": pa.array([60_000], pa.time32("ms"))})
write("others/bytes", {"user": pa.array([b"abcd"], pa.binary(4)), "item": ["x"], "rating": [1.0]})


class Keys(pe.KmsClient):
    """Wraps nothing: the tests need a file that is encrypted, not one that is safe."""

    def __init__(self, _config):
        super().__init__()

    def wrap_key(self, key_bytes, _name):
        return key_bytes.hex()

    def unwrap_key(self, wrapped_key, _name):
        return bytes.fromhex(wrapped_key)


def encrypt(name, plaintext_footer):
    config = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["user"]}, plaintext_footer=plaintext_footer
    )
    factory = pe.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    table = pa.table({"user": ["a"], "item": ["x"], "rating": [1.0]})
    with pq.ParquetWriter(
        place(name, "parquet"), table.schema, encryption_properties=properties
    ) as writer:
        writer.write_table(table)


encrypt("others/encrypted", False)
encrypt("others/encrypted-column", True)
