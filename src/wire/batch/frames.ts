import { WeirError } from '../../core/errors.ts'

/**
 * Frames of LZ4 and Zstandard one after the other, as a producer may write the records of a batch. Between them may be
 * skippable frames, which hold no records; all numbers are little-endian:
 *
 *      0                          4          8
 *      +--------------------------+----------+----------+
 *      | 184D2A50 to 184D2A5F u32 | size u32 | anything |
 *      +--------------------------+----------+----------+
 */
const SKIPPABLE_MAGIC = 0x184d2a50
const SKIPPABLE_VARIANTS = 0x0f
const SKIPPABLE_HEADER_SIZE = 8

/** A kind of frames. */
export interface FrameFormat {
  /** Name for messages. */
  readonly name: string
  readonly magic: number
  /** Where the frame at `at` ends. Throws a RangeError where it is cut off. */
  endOf(view: DataView, at: number): number
}

/** The frames with records, in order. Throws MALFORMED_DATA. */
export function dataFrames(packed: Uint8Array, format: FrameFormat): readonly Uint8Array[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
  const frames: Uint8Array[] = []
  for (let at = 0; at < packed.length; ) {
    const end = frameEnd(view, at, format)
    if (end.hasRecords) frames.push(packed.subarray(at, end.at))
    at = end.at
  }
  if (frames.length === 0) refuse(format, 'it has no frame')
  return frames
}

function frameEnd(
  view: DataView,
  at: number,
  format: FrameFormat,
): { readonly at: number; readonly hasRecords: boolean } {
  let end: number
  let hasRecords = true
  try {
    const magic = view.getUint32(at, true)
    if ((magic & ~SKIPPABLE_VARIANTS) >>> 0 === SKIPPABLE_MAGIC) {
      end = at + SKIPPABLE_HEADER_SIZE + view.getUint32(at + 4, true)
      hasRecords = false
    } else if (magic === format.magic) end = format.endOf(view, at)
    else refuse(format, 'it is not a frame')
  } catch (error) {
    if (error instanceof RangeError) refuse(format, 'a frame is incomplete')
    throw error
  }
  if (end > view.byteLength) refuse(format, 'a frame is incomplete')
  return { at: end, hasRecords }
}

/** The unpacked frames in one piece of at most `limit` bytes. Throws MALFORMED_DATA. */
export function unpackFrames(
  packed: Uint8Array,
  limit: number,
  format: FrameFormat,
  unpack: (frame: Uint8Array, limit: number) => Uint8Array,
): Uint8Array {
  const frames = dataFrames(packed, format)
  if (frames.length === 1) return unpack(frames[0]!, limit)
  let size = 0
  const parts = frames.map((frame) => {
    const part = unpack(frame, limit - size)
    size += part.length
    if (size > limit) refuse(format, 'it unpacks to more than is allowed')
    return part
  })
  return new Uint8Array(Buffer.concat(parts, size))
}

function refuse({ name }: FrameFormat, problem: string): never {
  throw new WeirError('MALFORMED_DATA', `the ${name} data is broken: ${problem}`)
}
