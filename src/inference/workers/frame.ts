/**
 * Frames between a worker and its child process, over a Unix socket:
 *
 *     length of the head (uint32) | length of the body (uint32) | head, JSON | body
 *
 * The head of a batch lists its tensors; the body has their data one after the other. Little-endian.
 */

import type { Tensor, TensorDatatype } from '../port/tensor.ts'

const LENGTHS = 8

/** Tensor without its data, as the head of a frame lists it. */
interface TensorHead {
  readonly name: string
  readonly datatype: TensorDatatype
  readonly shape: readonly number[]
  readonly bytes: number
}

/** Frame as it was read. */
export interface Frame<Head> {
  readonly head: Head
  readonly tensors: readonly Tensor[]
}

/** The bytes of a frame. */
export function encodeFrame(head: object, tensors: readonly Tensor[] = []): Buffer {
  const heads = tensors.map(
    ({ name, datatype, shape, data }): TensorHead => ({
      name,
      datatype,
      shape,
      bytes: data.length,
    }),
  )
  const json = Buffer.from(JSON.stringify({ ...head, tensors: heads }))
  const bodyLength = tensors.reduce((sum, { data }) => sum + data.length, 0)
  const frame = Buffer.allocUnsafe(LENGTHS + json.length + bodyLength)
  frame.writeUInt32LE(json.length, 0)
  frame.writeUInt32LE(bodyLength, 4)
  json.copy(frame, LENGTHS)
  let at = LENGTHS + json.length
  for (const { data } of tensors) {
    frame.set(data, at)
    at += data.length
  }
  return frame
}

/** Puts the chunks of a socket together and calls `onFrame` with each whole frame. */
export class FrameReader<Head> {
  private readonly onFrame: (frame: Frame<Head>) => void
  private chunks: Buffer[] = []
  private length = 0
  /** Bytes with which the next frame is whole, or its length known: they are put together then, not chunk by chunk. */
  private wanted = LENGTHS

  constructor(onFrame: (frame: Frame<Head>) => void) {
    this.onFrame = onFrame
  }

  push(chunk: Buffer): void {
    this.chunks.push(chunk)
    this.length += chunk.length
    while (this.length >= this.wanted) {
      const bytes = this.joined()
      const headLength = bytes.readUInt32LE(0)
      const end = LENGTHS + headLength + bytes.readUInt32LE(4)
      this.wanted = end
      if (bytes.length < end) return
      this.wanted = LENGTHS
      this.chunks = bytes.length > end ? [bytes.subarray(end)] : []
      this.length = bytes.length - end
      this.onFrame(frameOf<Head>(bytes.subarray(0, end), headLength))
    }
  }

  private joined(): Buffer {
    if (this.chunks.length > 1) this.chunks = [Buffer.concat(this.chunks, this.length)]
    return this.chunks[0]!
  }
}

function frameOf<Head>(bytes: Buffer, headLength: number): Frame<Head> {
  const bodyAt = LENGTHS + headLength
  const { tensors, ...head } = JSON.parse(bytes.toString('utf8', LENGTHS, bodyAt)) as Head & {
    readonly tensors: readonly TensorHead[]
  }
  let at = bodyAt
  return {
    head: head as Head,
    tensors: tensors.map(({ name, datatype, shape, bytes: length }) => {
      // Typed arrays need an aligned start.
      const data = new Uint8Array(bytes.subarray(at, at + length))
      at += length
      return { name, datatype, shape, data }
    }),
  }
}
