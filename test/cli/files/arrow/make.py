"""Writes the Arrow files of the tests from the Parquet files beside them, with pyarrow 26.0.1: python3 make.py FOLDER."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq

FOLDER = Path(sys.argv[1])
PARQUET = Path(__file__).parent.parent / "parquet"
ROWS_OF_BATCH = 15


def read(name):
    return pq.read_table(PARQUET / f"{name}.parquet")


def place(name):
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write(name, table, compression="uncompressed"):
    feather.write_feather(table, place(f"{name}.feather"), compression, chunksize=ROWS_OF_BATCH)


def write_stream(name, table):
    with pa.ipc.new_stream(place(f"{name}.arrows"), table.schema) as stream:
        stream.write_table(table, max_chunksize=ROWS_OF_BATCH)


usual = read("packings/none")
for compression in ["uncompressed", "lz4", "zstd"]:
    write(f"packings/{compression}", usual, compression)
write_stream("packings/stream", usual)

# Words of dictionaries, also packed; and columns with 64-bit offsets.
words = pa.table({name: pc.dictionary_encode(usual[name]) if name in ["movieId", "userId"] else usual[name] for name in usual.column_names})
write("packings/words", words)
for compression in ["lz4", "zstd"]:
    write(f"packings/words-{compression}", words, compression)
write_stream("packings/words", words)
large = [pa.field(each.name, pa.large_string()) if each.type == pa.string() else each for each in usual.schema]
write("packings/large", usual.cast(pa.schema(large)))
views = [pa.field(each.name, pa.string_view()) if each.type == pa.string() else each for each in usual.schema]
write("packings/views", usual.cast(pa.schema(views)))

for name in ["integers", "floats", "decimals", "events", "names-are-numbers", "early"]:
    write(f"types/{name}", read(f"types/{name}"))
for name in ["nulls", "line-breaks", "latin-1", "empty", "nested", "nested-item", "clock", "bytes"]:
    write(f"others/{name}", read(f"others/{name}"))
write("types/halves", pa.table({"user": ["a", "b"], "item": ["x", "y"], "rating": pa.array([1.5, 4.0], pa.float32()).cast(pa.float16()), "date": pa.array([1425943920000, 86400000], pa.date64())}))
