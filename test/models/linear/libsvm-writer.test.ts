import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { LibsvmParser } from '../../../src/models/linear/libsvm-format.ts'
import { LibsvmWriter } from '../../../src/models/linear/libsvm-writer.ts'

it('writes examples as LIBSVM text', () => {
  const writer = new LibsvmWriter()
  const values = Float32Array.of(1, 0.5, -0.25, 0.105, 12.34, 0.1, 1e-20, 3e20)
  writer.add(1, [0, 7, 10, 99, 100, 4_294_967_294, 5, 6], values)
  writer.add(-1, [], [])
  expect(Buffer.from(writer.bytes.subarray(0, writer.length)).toString()).toBe(
    '+1 0:1 7:0.5 10:-0.25 99:0.105 100:12.34 4294967294:0.1 5:1e-20 6:300000000000000000000\n-1\n',
  )
})

it('writes what reads back as the same float32', () => {
  const random = seededRandom(4)
  const values = Float32Array.from({ length: 5000 }, (_, i) =>
    i % 2 === 0 ? random.normal() * 10 ** (random.below(30) - 15) : random.below(100_000) / 1000,
  )
  const writer = new LibsvmWriter()
  const ids = Uint32Array.from(values, (_, i) => i)
  writer.add(-1, ids, values)
  const read: [number, number[]][] = []
  const parser = new LibsvmParser((label, _ids, found, count) => {
    read.push([label, [...found.subarray(0, count)]])
  })
  parser.push(writer.bytes.subarray(0, writer.length))
  parser.end()
  expect(read).toEqual([[-1, [...values]]])
})
