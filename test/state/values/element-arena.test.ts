import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { bytesSerializer, type Serializer } from '../../../src/core/serializer.ts'
import { ArenaElements, ElementArena } from '../../../src/state/values/element-arena.ts'
import { valuesOf } from '../../../src/state/values/list.ts'
import { campaignSize } from '../../run/campaign-size.ts'

const serializer = msgpackSerializer<unknown>()

function bytesOf(elements: ArenaElements): Uint8Array {
  const writer = new ByteWriter(1)
  writer.uint8(7)
  elements.write(writer)
  return writer.toBytes().subarray(1)
}

function packed(arrays: readonly Uint8Array[]): Uint8Array {
  const writer = new ByteWriter()
  for (const array of arrays) writer.sized(array)
  return writer.toBytes()
}

/** Bytes that tell arrays of one length apart. */
const filled = (length: number, n: number): Uint8Array =>
  new Uint8Array(length).map((_, i) => i * 31 + n)

describe('an arena of elements', () => {
  it('has the elements of each list in their order, whichever lists grow beside it', () => {
    const arena = new ElementArena()
    const lists = Array.from({ length: 7 }, () => new ArenaElements(arena))
    const added = lists.map((): unknown[] => [])
    for (let n = 0; n < campaignSize(5_000, 20_000); n++) {
      const at = (n * n) % 7
      const value = { n, text: 'x'.repeat(n % 90) }
      lists[at]!.add(serializer, value)
      added[at]!.push(value)
    }
    for (const [at, list] of lists.entries()) {
      expect(valuesOf(serializer, bytesOf(list))).toEqual(added[at])
      expect([list.count, list.length]).toEqual([added[at]!.length, bytesOf(list).length])
    }
  })

  it.each([0, 1, 127, 128, 16_383, 16_384, 65_535, 65_536, 300_000])(
    'has elements of %i bytes among short ones',
    (length) => {
      const arena = new ElementArena()
      const list = new ArenaElements(arena)
      const arrays = Array.from({ length: 24 }, (_, n) => filled(n % 2 === 0 ? length : 5, n))
      for (const array of arrays) list.add(bytesSerializer, array)
      // Vitest takes seconds to compare long arrays.
      expect(Buffer.compare(bytesOf(list), packed(arrays))).toBe(0)
    },
  )

  it('takes no more memory while as many elements are released as are added', () => {
    const arena = new ElementArena()
    const stays = new ArenaElements(arena)
    stays.add(bytesSerializer, filled(10, 3))
    const lists: ArenaElements[] = []
    const count = campaignSize(1_000, 5_000)
    for (let n = 0; n < count; n++) {
      const list = new ArenaElements(arena)
      for (let i = 0; i < 10; i++) list.add(bytesSerializer, filled(100, n + i))
      lists.push(list)
      if (lists.length > 100) lists.shift()!.release()
    }
    // 100 lists of 10 elements of 108 bytes are two slabs, and a few are begun.
    expect(arena.bytes).toBeLessThan(6 * 65_536)
    for (const [at, list] of lists.entries()) {
      const arrays = Array.from({ length: 10 }, (_, i) => filled(100, count - 100 + at + i))
      expect(bytesOf(list)).toEqual(packed(arrays))
    }
    expect(bytesOf(stays)).toEqual(packed([filled(10, 3)]))
    for (const list of [...lists, stays]) list.release()
    expect(arena.bytes).toBe(65_536)
  })

  it('is as it was after an element that could not be packed', () => {
    const failing: Serializer<unknown> = {
      ...serializer,
      write: (value, writer) => {
        writer.raw(filled(500, 1))
        throw new Error(`no bytes for ${String(value)}`)
      },
    }
    const list = new ArenaElements(new ElementArena())
    list.add(serializer, 'first')
    expect(() => list.add(failing, 'second')).toThrow('no bytes for second')
    list.add(serializer, 'third')
    expect(valuesOf(serializer, bytesOf(list))).toEqual(['first', 'third'])
  })
})
