import { describe, expect, it } from 'vitest'
import { type KeySettings, keySourceOf } from '../../../../src/testing/load/keys/key-settings.ts'

const ALONE = { thread: 0, threads: 1 }
const RANGES: Extract<KeySettings, { kind: 'ranges' }> = {
  kind: 'ranges',
  users: { from: 10, to: 19 },
  items: { from: 1, to: 1000 },
  userSuffix: '',
  distribution: 'uniform',
  seed: 3,
}

const drawn = (settings: KeySettings, requests: number, batch = 1, share = ALONE) => {
  const source = keySourceOf(settings, batch, share)
  return Array.from({ length: requests }, () => source.next())
}

describe('keys of ranges', () => {
  it('are all in their ranges, and the same for the same seed only', () => {
    const pairs = drawn(RANGES, 500).flat()
    expect(new Set(pairs.map(({ user }) => user)).size).toBe(10)
    expect(pairs.every(({ user }) => Number(user) >= 10 && Number(user) <= 19)).toBe(true)
    expect(pairs.every(({ item }) => Number(item) >= 1 && Number(item) <= 1000)).toBe(true)
    expect(drawn(RANGES, 50)).toEqual(pairs.slice(0, 50).map((pair) => [pair]))
    expect(drawn({ ...RANGES, seed: 4 }, 50)).not.toEqual(drawn(RANGES, 50))
    expect(drawn(RANGES, 50, 1, { thread: 1, threads: 2 })).not.toEqual(drawn(RANGES, 50))
  })

  it('with Zipf name one of a thousand in every eighth request', () => {
    const pairs = drawn({ ...RANGES, distribution: 'zipf' }, 5000).flat()
    const counts = [...Map.groupBy(pairs, ({ item }) => item).values()].map(({ length }) => length)
    const top = Math.max(...counts) / pairs.length
    expect(top).toBeGreaterThan(0.1)
    expect(top).toBeLessThan(0.16)
  })

  it('end in a suffix where whole keys are asked for', () => {
    expect(drawn({ ...RANGES, userSuffix: '-U' }, 1)[0]![0]!.user).toMatch(/^1\d-U$/)
  })
})

describe('keys of a list', () => {
  const pairs = ['a', 'b', 'c', 'd', 'e'].map((user) => ({ user, item: '' }))
  const names = (requests: ReturnType<typeof drawn>) =>
    requests.map((keys) => keys.map(({ user }) => user).join(''))

  it('come in their order, from the first again, in batches', () => {
    expect(names(drawn({ kind: 'list', pairs }, 4, 2))).toEqual(['ab', 'cd', 'ea', 'bc'])
  })

  it('are shared by threads, and all threads together ask for each', () => {
    const share = (thread: number) =>
      names(drawn({ kind: 'list', pairs }, 3, 1, { thread, threads: 2 }))
    expect([share(0), share(1)]).toEqual([
      ['a', 'c', 'e'],
      ['b', 'd', 'a'],
    ])
  })

  it('come from the first again after a restart', () => {
    const source = keySourceOf({ kind: 'list', pairs }, 1, { thread: 1, threads: 2 })
    const first = source.next()
    source.next()
    source.restart()
    expect(source.next()).toEqual(first)
  })

  it('are refused when there are none', () => {
    expect(() => keySourceOf({ kind: 'list', pairs: [] }, 1, ALONE)).toThrow('no keys')
  })
})
