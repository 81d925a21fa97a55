import { describe, expect, it } from 'vitest'
import { encodeFrame, type Frame, FrameReader } from '../../../src/inference/workers/frame.ts'

/** Head of a frame of the test. */
interface Head {
  readonly number: number
}

const tensorOf = (bytes: number) =>
  ({ name: 'x', datatype: 'UINT8', shape: [bytes], data: new Uint8Array(bytes).fill(7) }) as const

describe('the frames between a worker and its child process', () => {
  it.each([1, 7, 8, 100, 10_000])('are the same in chunks of %d bytes', (size) => {
    const tensors = [[], [tensorOf(3), tensorOf(0)], [tensorOf(5000)], []]
    const all = Buffer.concat(tensors.map((each, number) => encodeFrame({ number }, each)))
    const frames: Frame<Head>[] = []
    const reader = new FrameReader<Head>((frame) => frames.push(frame))
    for (let at = 0; at < all.length; at += size) reader.push(all.subarray(at, at + size))
    expect(frames).toEqual(tensors.map((each, number) => ({ head: { number }, tensors: each })))
  })
})
