import { describe, expect, it } from 'vitest'
import { compareLists } from '../../../src/kinds/factors/top-lists.ts'
import { alsKey } from '../../../src/models/als/row-key.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'

const USERS = Array.from({ length: 20 }, (_, n) => `u${n}`)

/** A reader whose lists are the same for all users: those of the live version, 1, and of the candidate, 2. */
function readerOf(lists: Readonly<Record<number, readonly string[]>>): ModelReader {
  const topK = async (_: string, __: string, { version }: { version: number }) => ({
    ok: true,
    value: lists[version]!.map((item) => ({ key: alsKey(item, 'I'), score: 1 })),
  })
  return { topK } as unknown as ModelReader
}

const compared = (supported: readonly string[]) =>
  compareLists({
    reader: readerOf({ 1: ['a', 'b', 'c'], 2: ['a', 'd', 'e'] }),
    state: 'ALS_MODEL',
    candidate: 2,
    live: 1,
    items: 30,
    users: USERS,
    isSupported: (item, move) => supported.includes(`${move} of ${item}`),
  })

describe('top lists of two versions', () => {
  it('name the item that rises the most and the one that falls the most', async () => {
    const { overlap, rise, risenItem, fall, fallenItem } = await compared([])
    expect(overlap).toBeCloseTo(1 / 3)
    expect({ rise, risenItem }).toEqual({ rise: 1, risenItem: 'd' })
    expect({ fall, fallenItem }).toEqual({ fall: 1, fallenItem: 'b' })
  })

  it('name the next one where golden ratings support the first, and none where they support all', async () => {
    expect(await compared(['rise of d', 'fall of b'])).toMatchObject({
      risenItem: 'e',
      fallenItem: 'c',
    })
    const facts = await compared(['rise of d', 'rise of e', 'fall of b', 'fall of c'])
    expect(facts).toEqual({ users: 20, overlap: expect.closeTo(1 / 3), rise: 0, fall: 0 })
  })
})
