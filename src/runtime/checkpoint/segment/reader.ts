import { crc32 } from 'node:zlib'
import { WeirError } from '../../../core/errors.ts'
import { intersectKeyGroups, type KeyGroupRange } from '../../../core/key-group.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { type SpanVisitor, visitSlice } from './block.ts'
import {
  checkSegmentHeader,
  decodeSegmentFooter,
  decodeSegmentTrailer,
  SEGMENT_HEADER_BYTES,
  SEGMENT_TRAILER_BYTES,
  type SegmentFooter,
  type SliceIndex,
} from './format.ts'

/** Reads in flight while entries are visited; each is at most one block. */
const PREFETCH = 3
/** Bytes that are read at the end of the file; they usually contain the complete footer. */
const TAIL_BYTES = 64 * 1024
const MEMORY_PAGE_BYTES = 64 * 1024

/** A segment whose footer was read and checked. */
export interface OpenSegment {
  readonly storage: CheckpointStorage
  readonly reference: SegmentReference
  readonly footer: SegmentFooter
}

/** Neighbouring slices of one block that are read together. */
interface SliceRead {
  readonly start: number
  readonly bytes: number
  readonly slices: readonly SliceIndex[]
}

/**
 * Opens a segment: reads and checks header, trailer and footer. Throws CHECKSUM_MISMATCH,
 * MALFORMED_DATA, UNSUPPORTED_VERSION, CHECKPOINT_NOT_FOUND, STORAGE_FAILED.
 */
export async function openSegment(
  storage: CheckpointStorage,
  reference: SegmentReference,
): Promise<OpenSegment> {
  try {
    return await readEnds(storage, reference)
  } catch (cause) {
    throw naming(reference.path, cause)
  }
}

async function readEnds(
  storage: CheckpointStorage,
  reference: SegmentReference,
): Promise<OpenSegment> {
  const { path, bytes } = reference
  const tailBytes = Math.min(bytes, TAIL_BYTES)
  const [head, tail] = await Promise.all([
    storage.read(path, 0, SEGMENT_HEADER_BYTES),
    storage.read(path, bytes - tailBytes, tailBytes),
  ])
  if (head.length < SEGMENT_HEADER_BYTES || tail.length < tailBytes) throw cutOff(path)
  checkSegmentHeader(head)
  const footerEnd = tail.length - SEGMENT_TRAILER_BYTES
  const { footerBytes, footerCrc } = decodeSegmentTrailer(tail.subarray(footerEnd), reference)
  const footer =
    footerBytes <= footerEnd
      ? tail.subarray(footerEnd - footerBytes, footerEnd)
      : await storage.read(path, bytes - SEGMENT_TRAILER_BYTES - footerBytes, footerBytes)
  return { storage, reference, footer: decodeSegmentFooter(footer, footerCrc) }
}

/** Hooks of a reader of spans. */
export interface SpanReading {
  /** Called before every block. */
  readonly between?: () => Promise<void>
  /** Whether a slice need not be visited. */
  readonly skips?: ((slice: SliceIndex) => boolean) | undefined
  /** Memory of `readMemoryOf` to read into, which no other pass uses meanwhile. @default new memory */
  readonly memory?: WasmMemory | undefined
}

/** A memory for passes over any of the segments. A kernel can read the entries where they are. */
export function readMemoryOf(segments: readonly OpenSegment[]): WasmMemory {
  const blocks = segments.flatMap(({ footer }) => footer.blocks)
  const largest = blocks.reduce((most, block) => Math.max(most, bytesOf(block.slices)), 0)
  const pages = Math.ceil((PREFETCH * largest) / MEMORY_PAGE_BYTES)
  return new WebAssembly.Memory({ initial: pages, maximum: pages })
}

function bytesOf(slices: readonly SliceIndex[]): number {
  return slices.reduce((sum, { bytes }) => sum + bytes, 0)
}

/**
 * Visits in place the entries of a segment that are in `keyGroups` and in the reference's own range.
 * Blocks are visited from last to first, and entries of a key group newest first. So, if a chain is
 * read from the newest segment to the oldest, THE FIRST ENTRY OF A KEY COUNTS. Memory is bounded to a
 * few blocks; the event loop turns between blocks. Throws as `openSegment`, and what `visit` throws.
 */
export async function visitSpans(
  segment: OpenSegment,
  keyGroups: KeyGroupRange,
  visit: SpanVisitor,
  { between, skips, memory }: SpanReading = {},
): Promise<void> {
  const range = intersectKeyGroups(keyGroups, segment.reference.keyGroups)
  if (range === undefined) return
  const reads = planReads(segment.footer, range)
  const buffers = new ReadBuffers(reads, memory)
  const inFlight: Promise<Uint8Array>[] = []
  try {
    for (let i = 0; i < reads.length; i++) {
      while (inFlight.length < PREFETCH && i + inFlight.length < reads.length) {
        const next = i + inFlight.length
        inFlight.push(startRead(segment, reads[next]!, buffers.of(next)))
      }
      const bytes = await inFlight.shift()!
      await between?.()
      visitRead(segment, reads[i]!, bytes, { range, visit, skips, memory })
    }
  } finally {
    await Promise.allSettled(inFlight)
  }
}

/** Memory for the reads in flight; a read uses that of the read PREFETCH before it, which is done. */
class ReadBuffers {
  private readonly buffers: Uint8Array[] = []
  private readonly bytes: number
  private readonly memory: WasmMemory | undefined

  constructor(reads: readonly SliceRead[], memory: WasmMemory | undefined) {
    this.memory = memory
    this.bytes = reads.reduce((most, { bytes }) => Math.max(most, bytes), 0)
  }

  of(read: number): Uint8Array {
    const index = read % PREFETCH
    this.buffers[index] ??= this.make(index)
    return this.buffers[index]
  }

  private make(index: number): Uint8Array {
    const { bytes, memory } = this
    if (memory === undefined) return new Uint8Array(bytes)
    return new Uint8Array(memory.buffer, index * bytes, bytes)
  }
}

function startRead(segment: OpenSegment, read: SliceRead, into: Uint8Array): Promise<Uint8Array> {
  const bytes = segment.storage.read(segment.reference.path, read.start, read.bytes, into)
  // It may fail while an earlier block is visited; the loop that awaits it sees the failure.
  bytes.catch(() => {})
  return bytes
}

/**
 * Plans reads of the slices that intersect `range`, newest block first; slices of a block are
 * neighbours.
 */
function planReads(footer: SegmentFooter, range: KeyGroupRange): SliceRead[] {
  const reads: SliceRead[] = []
  let position = SEGMENT_HEADER_BYTES
  for (const block of footer.blocks) {
    let start = position
    let bytes = 0
    const slices: SliceIndex[] = []
    for (const slice of block.slices) {
      if (slice.lastGroup >= range.first && slice.firstGroup <= range.last) {
        if (slices.length === 0) start = position
        slices.push(slice)
        bytes += slice.bytes
      }
      position += slice.bytes
    }
    if (bytes > 0) reads.push({ start, bytes, slices })
  }
  return reads.reverse()
}

function visitRead(
  segment: OpenSegment,
  read: SliceRead,
  bytes: Uint8Array,
  {
    range,
    visit,
    skips,
    memory,
  }: Pick<SpanReading, 'skips' | 'memory'> & {
    readonly range: KeyGroupRange
    readonly visit: SpanVisitor
  },
): void {
  const { path } = segment.reference
  if (bytes.length < read.bytes) throw cutOff(path)
  const inMemory = bytes.buffer === memory?.buffer ? memory : undefined
  let at = 0
  for (const slice of read.slices) {
    const part = bytes.subarray(at, at + slice.bytes)
    at += slice.bytes
    if (skips?.(slice) === true) continue
    if (crc32(part) !== slice.crc) {
      throw new WeirError(
        'CHECKSUM_MISMATCH',
        `${path} is damaged near byte ${read.start + at - slice.bytes}; restore from another checkpoint`,
      )
    }
    visitSlice(part, inMemory, segment.footer.names, range, visit)
  }
}

/** The same error with the path of the segment in its message. */
function naming(path: string, cause: unknown): unknown {
  if (!(cause instanceof WeirError) || cause.message.includes(path)) return cause
  return new WeirError(cause.code, `${path}: ${cause.message}`, { cause, details: { path } })
}

function cutOff(path: string): WeirError {
  return new WeirError('MALFORMED_DATA', `${path} is cut off; restore from another checkpoint`)
}
