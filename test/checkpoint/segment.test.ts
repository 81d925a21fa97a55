import { describe, expect, it } from 'vitest'
import { readSegment } from '../../src/checkpoint/segment-reader.ts'
import { SegmentWriter } from '../../src/checkpoint/segment-writer.ts'
import { seededRandom } from '../../src/core/random.ts'
import { MemoryCheckpointStorage } from '../../src/testing/memory-checkpoint-storage.ts'

const text = (s: string): Uint8Array => new TextEncoder().encode(s)
describe('segment smoke', () => {
  it('round trips newest first', async () => {
    const storage = new MemoryCheckpointStorage()
    const w = new SegmentWriter({
      storage,
      path: 'j/shared/a',
      keyGroups: { first: 3, last: 90 },
      blockBytes: 5000,
    })
    const random = seededRandom(1)
    const expected = new Map<string, string | undefined>()
    for (let i = 0; i < 20000; i++) {
      const k = random.below(3000)
      const g = 3 + (k % 88)
      const v = random.below(10) === 0 ? undefined : `v${i}`.repeat(random.below(20))
      w.append(g, k % 2 ? 'a' : 'b', text(`k${k}`), v === undefined ? undefined : text(v))
      expected.set(`k${k}`, v)
      if (!w.ready()) await w.whenReady()
    }
    const ref = await w.finish({ checkpointId: 1, full: false })
    expect(ref.bytes).toBe(storage.files.get('j/shared/a')!.length)
    for (const range of [
      { first: 0, last: 127 },
      { first: 10, last: 20 },
    ]) {
      const got = new Map<string, string | undefined>()
      await readSegment(storage, ref, range, (g, s, k, v) => {
        const key = Buffer.from(k).toString()
        expect(g).toBe(3 + (Number(key.slice(1)) % 88))
        expect(s).toBe(Number(key.slice(1)) % 2 ? 'a' : 'b')
        if (!got.has(key)) got.set(key, v && Buffer.from(v).toString())
      })
      const want = [...expected].filter(([k]) => {
        const g = 3 + (Number(k.slice(1)) % 88)
        return g >= range.first && g <= range.last
      })
      expect(new Map([...got].sort())).toEqual(new Map(want.sort()))
    }
  })
})
