import { requireArgument, WeirError } from '../../core/errors.ts'
import { topKScratchBytes } from '../../core/kernels/top-k-scratch.ts'

/**
 * Layout of a row table: one shared WebAssembly memory per (vector state, model version, slot), one
 * writer, any number of readers in any thread. All addresses are in 4-byte words, so that they stay
 * below 2^30 in a memory of 4 GB. Numbers are little-endian, as everything in WebAssembly is.
 *
 *   word 0                    control page (64 KiB)
 *   +--------------------------------------------------------------------------------------------+
 *   | 0 magic 'WRTB' | 1 layout version | 2 dimension | 3 stride | 4 max key bytes               |
 *   | 5 words per row header | 6 log2 rows per segment | 7 directory | 8 means, 0 if none         |
 *   | 16 segments | 17 live rows | 18 rows only in the store | 19 restoring (0, 1) | 20 epoch    |
 *   | 21 rows may be evicted (0, 1) | 22, 23, 24 checkpoints that can be read, 0 = none          |
 *   | 9 scratch areas | 10 words of one | 48 to 55 area is taken (0, 1), by compare and exchange  |
 *   | 25 key group + 1 of a row that a reader met before it was restored, 0 = none              |
 *   | 26 puts and removals of rows so far; an eviction and a restore change no row              |
 *   | 32 index epoch (odd while entries move) | 33 index address | 34 index shift | 35 index mask|
 *   +--------------------------------------------------------------------------------------------+
 *   word 16384                segment directory, 32768 words: address of each segment, 0 if none
 *   then 8 scratch areas for the top-k kernels of reading threads (`topKScratchBytes`), which only see
 *   this memory; then, in the order in which they were needed: means, indexes, segments
 *
 *   segment of R rows (R a power of two)
 *   +-----------------------------------+---------------------------+----------------------------+
 *   | 80 words: 0 changes, 1 kind,      | R row headers             | R x stride float32         |
 *   | 2 keys written so far,            |                           |                            |
 *   | 16 to 79 changes of each part     |                           |                            |
 *   +-----------------------------------+---------------------------+----------------------------+
 *   `changes` grows at the start and at the end of every write in the segment (odd: during a write),
 *   so a scan that finds it even and equal before and after has read a consistent block. The change
 *   counter of a part (a 64th of the rows) grows once, at the end of the write: who keeps something
 *   about rows looks only at parts whose counter grew. `keys` grows when a row gets a key: until then every live
 *   row of the segment has the key that it had.
 *   `kind`: 0 rows, 1 images of rows. Floats are 16-byte aligned, stride = dimension rounded up to 4.
 *
 *   row header, words; a multiple of 8, and its start is 32-byte aligned
 *   +------------+-----------+-------------+--------+--------+-----------------------------------+
 *   | 0 sequence | 1 state   | 2 reference | 3 hash | 4 meta | 14 key, zero-padded               |
 *   +------------+-----------+-------------+--------+--------+-----------------------------------+
 *   meta: 0 update count | 1 write epoch | 2 image | 3 through | 4 partition | 5 listed
 *         6,7 offset (float64) | 8,9 event time (float64)
 *
 *   `sequence` is odd while the row is written. `state` = key length | flags << 16. `reference` is the
 *   one word of a row that readers write (CLOCK). `image` = number of the newest image + 1; an image's own
 *   `image` is the next older one, its `through` the last checkpoint that it is valid for, its
 *   `listed` the owner's row number + 1.
 *
 *   index: open addressing, linear probing, entries of two words (hash, row number + 1; 0 = empty),
 *   first slot = imul(hash, 0x9e3779b1) >>> shift. Deletion shifts entries back, under the index epoch.
 *
 *   means: 4 slots of (0 sequence | 1 checkpoint id, 0 = live | 2,3 count (float64) | sums (float64 x
 *   dimension)); slot 0 is live, the others are those at a barrier.
 */
const ROW_TABLE_MAGIC = 0x42545257
const ROW_TABLE_VERSION = 3

export const PAGE_WORDS = 16384
export const MAX_PAGES = 65536
export const DIRECTORY_ADDRESS = PAGE_WORDS
export const DIRECTORY_WORDS = 32768
export const FIRST_FREE_ADDRESS = DIRECTORY_ADDRESS + DIRECTORY_WORDS

const CONTROL_MAGIC = 0
const CONTROL_VERSION = 1
const CONTROL_DIMENSION = 2
const CONTROL_STRIDE = 3
const CONTROL_MAX_KEY_BYTES = 4
const CONTROL_HEADER_WORDS = 5
const CONTROL_ROW_SHIFT = 6
export const CONTROL_DIRECTORY = 7
export const CONTROL_MEANS = 8
export const CONTROL_SCRATCH = 9
export const CONTROL_SCRATCH_WORDS = 10
export const CONTROL_SEGMENTS = 16
export const CONTROL_LIVE_ROWS = 17
export const CONTROL_STORE_ROWS = 18
export const CONTROL_RESTORING = 19
export const CONTROL_EPOCH = 20
export const CONTROL_EVICTING = 21
export const CONTROL_RETAINED = 22
export const RETAINED_CHECKPOINTS = 3
export const CONTROL_WANTED = 25
export const CONTROL_WRITES = 26
export const CONTROL_INDEX_EPOCH = 32
export const CONTROL_INDEX_ADDRESS = 33
export const CONTROL_INDEX_SHIFT = 34
export const CONTROL_INDEX_MASK = 35

export const CONTROL_SCRATCH_TAKEN = 48
export const SCRATCH_AREAS = 8
/** Triples that a scratch area holds. */
export const SCRATCH_TRIPLES = 1024

export const SEGMENT_HEADER_WORDS = 80
export const SEGMENT_CHANGES = 0
export const SEGMENT_KIND = 1
export const SEGMENT_KEYS = 2
export const SEGMENT_PARTS = 16
/** Parts of a segment, each with its own change counter. */
export const PARTS = 64
const PART_SHIFT = 6
export const KIND_ROWS = 0
export const KIND_IMAGES = 1

export const ROW_SEQUENCE = 0
export const ROW_STATE = 1
export const ROW_REFERENCE = 2
export const ROW_HASH = 3
/** Before the key, so that all of a header with a short key is in one cache line. */
export const ROW_META = 4
export const META_UPDATE_COUNT = 0
export const META_WRITE_EPOCH = 1
export const META_IMAGE = 2
export const META_THROUGH = 3
export const META_PARTITION = 4
export const META_LISTED = 5
export const META_OFFSET = 6
export const META_EVENT_TIME = 8
const META_WORDS = 10
export const ROW_KEY = ROW_META + META_WORDS

/** Low bits of a row's state: its key length. */
export const STATE_KEY_LENGTH = 0xffff
/** The row can be read. */
export const STATE_LIVE = 1 << 16
/** The row was deleted, but a checkpoint still needs it. */
export const STATE_DELETED = 1 << 17
/** The row is an older image of another one. */
export const STATE_IMAGE = 1 << 18
/** The store has an entry for the key. */
export const STATE_STORED = 1 << 19
/** That entry equals the row. */
export const STATE_CLEAN = 1 << 20

export const MEAN_SLOTS = 4
export const MEAN_SEQUENCE = 0
export const MEAN_CHECKPOINT = 1
export const MEAN_COUNT = 2
export const MEAN_SUMS = 4

/** Multiplier of the index's Fibonacci hashing: keys of one slot share low bits of their hash. */
export const INDEX_MULTIPLIER = 0x9e3779b1 | 0

const TARGET_SEGMENT_BYTES = 256 * 1024
const MAX_ROW_SHIFT = 12

/** Sizes that follow from dimension and key length; all in words unless said otherwise. */
export interface RowTableLayout {
  readonly dimension: number
  readonly stride: number
  readonly maxKeyBytes: number
  readonly headerWords: number
  readonly rowShift: number
  readonly rowsPerSegment: number
  /** Log2 of the rows in one of a segment's parts. */
  readonly partShift: number
  /** Offset of the floats in a segment. */
  readonly floatsAt: number
  readonly segmentWords: number
  /** Words of one scratch area. */
  readonly scratchWords: number
}

function layoutOf(dimension: number, maxKeyBytes: number, rowShift: number): RowTableLayout {
  const stride = (dimension + 3) & ~3
  const headerWords = Math.ceil((ROW_KEY + maxKeyBytes / 4) / 8) * 8
  const rowsPerSegment = 1 << rowShift
  const floatsAt = SEGMENT_HEADER_WORDS + rowsPerSegment * headerWords
  const segmentWords = floatsAt + rowsPerSegment * stride
  return {
    dimension,
    stride,
    maxKeyBytes,
    headerWords,
    rowShift,
    rowsPerSegment,
    partShift: Math.max(0, rowShift - PART_SHIFT),
    floatsAt,
    segmentWords,
    scratchWords: topKScratchBytes(dimension, SCRATCH_TRIPLES) / 4,
  }
}

/**
 * The layout for rows of `dimension` floats (1 to 65536) and keys of at most `maxKeyBytes` (1 to
 * 1024). Segments are the smallest power of two of rows that fills 256 KiB, at most 4096 rows, so
 * that the directory suffices for 4 GB; `rowShift` overrides that. Throws INVALID_ARGUMENT.
 */
export function rowTableLayout(
  dimension: number,
  maxKeyBytes: number,
  rowShift?: number,
): RowTableLayout {
  requireArgument(
    Number.isInteger(dimension) && dimension >= 1 && dimension <= 65536,
    `a vector state has 1 to 65536 floats per row, not ${dimension}`,
  )
  requireArgument(
    Number.isInteger(maxKeyBytes) && maxKeyBytes >= 1 && maxKeyBytes <= 1024,
    `maxKeyBytes of a vector state is 1 to 1024, not ${maxKeyBytes}`,
  )
  if (rowShift !== undefined) return layoutOf(dimension, maxKeyBytes, rowShift)
  for (let shift = 0; shift < MAX_ROW_SHIFT; shift++) {
    const layout = layoutOf(dimension, maxKeyBytes, shift)
    if (layout.segmentWords * 4 >= TARGET_SEGMENT_BYTES) return layout
  }
  return layoutOf(dimension, maxKeyBytes, MAX_ROW_SHIFT)
}

/** Writes the constant part of the control page. */
export function writeControl(words: Int32Array, layout: RowTableLayout): void {
  words[CONTROL_MAGIC] = ROW_TABLE_MAGIC
  words[CONTROL_VERSION] = ROW_TABLE_VERSION
  words[CONTROL_DIMENSION] = layout.dimension
  words[CONTROL_STRIDE] = layout.stride
  words[CONTROL_MAX_KEY_BYTES] = layout.maxKeyBytes
  words[CONTROL_HEADER_WORDS] = layout.headerWords
  words[CONTROL_ROW_SHIFT] = layout.rowShift
  words[CONTROL_DIRECTORY] = DIRECTORY_ADDRESS
  words[CONTROL_SCRATCH] = FIRST_FREE_ADDRESS
  words[CONTROL_SCRATCH_WORDS] = layout.scratchWords
}

/** The layout in a control page. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readControl(words: Int32Array): RowTableLayout {
  if (words[CONTROL_MAGIC] !== ROW_TABLE_MAGIC) {
    throw new WeirError('MALFORMED_DATA', 'the shared memory is not a row table')
  }
  if (words[CONTROL_VERSION] !== ROW_TABLE_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `row table layout ${words[CONTROL_VERSION]} is not known here; all threads must run one build`,
    )
  }
  return layoutOf(
    words[CONTROL_DIMENSION]!,
    words[CONTROL_MAX_KEY_BYTES]!,
    words[CONTROL_ROW_SHIFT]!,
  )
}
