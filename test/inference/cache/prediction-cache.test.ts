import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { ClockCache } from '../../../src/inference/cache/clock-cache.ts'
import { PredictionCache } from '../../../src/inference/cache/prediction-cache.ts'
import { requestKey } from '../../../src/inference/cache/request-key.ts'
import { raceObservations } from './observation-race.ts'

const forever = new AbortController().signal

/** A cache of numbers whose runs are settled by the test. */
function cacheWithRuns(isCacheable = (_: number) => true) {
  const runs: (PromiseWithResolvers<number> & { readonly signal: AbortSignal })[] = []
  const weights = { epoch: 0 }
  const cache = new PredictionCache<number>({
    capacity: 100_000,
    epoch: () => weights.epoch,
    bytesOf: () => 8,
    isCacheable,
  })
  const ask = (key: string, signal = forever) =>
    cache.answer({
      key,
      signal,
      compute(signal) {
        const run = { ...Promise.withResolvers<number>(), signal }
        runs.push(run)
        return run.promise
      },
    })
  return { cache, runs, weights, ask }
}

describe('a prediction cache', () => {
  it('runs 100 equal requests once', async () => {
    const { cache, runs, ask } = cacheWithRuns()
    const asked = Array.from({ length: 99 }, () => ask('a'))
    runs[0]!.resolve(7)
    expect((await Promise.all(asked)).every(({ value }) => value === 7)).toBe(true)
    expect(await ask('a')).toEqual({ value: 7, way: 'hit' })
    expect(runs.length).toBe(1)
    expect(cache.statistics()).toMatchObject({ cacheHits: 1, cacheMisses: 1, cacheJoined: 98 })
  })

  it('gives no answer of earlier weights, not even that of a run under way', async () => {
    const { runs, weights, ask } = cacheWithRuns()
    const before = ask('a')
    weights.epoch++
    const after = ask('a')
    expect(runs.length).toBe(2)
    runs[0]!.resolve(1)
    runs[1]!.resolve(2)
    expect([(await before).value, (await after).value]).toEqual([1, 2])
    expect(await ask('a')).toEqual({ value: 2, way: 'hit' })
  })

  it('stores no default and no error', async () => {
    const { runs, ask } = cacheWithRuns((value) => value >= 0)
    const first = ask('a')
    runs[0]!.resolve(-1)
    await first
    const second = ask('a')
    runs[1]!.reject(new Error('no'))
    await expect(second).rejects.toThrow('no')
    void ask('a')
    expect(runs.length).toBe(3)
  })

  it('lets a request that joined run by itself when the other fails', async () => {
    const { runs, ask } = cacheWithRuns()
    const leader = ask('a')
    const joined = ask('a')
    runs[0]!.reject(new Error('too late'))
    await expect(leader).rejects.toThrow('too late')
    await Promise.resolve()
    runs[1]!.resolve(3)
    expect(await joined).toEqual({ value: 3, way: 'run' })
  })

  it('ends a run when the last request that waits gives up, and not before', async () => {
    const { runs, ask } = cacheWithRuns()
    const [a, b] = [new AbortController(), new AbortController()]
    const asked = [ask('a', a.signal), ask('a', b.signal)]
    a.abort(new Error('gone'))
    await expect(asked[0]).rejects.toThrow('gone')
    expect(runs[0]!.signal.aborted).toBe(false)
    b.abort(new Error('gone too'))
    await expect(asked[1]).rejects.toThrow('gone too')
    expect(runs[0]!.signal.aborted).toBe(true)
  })

  it('never answers with older weights than those at the time of the request: 10^4 interleavings', async () => {
    const { stale, answers, ways } = await raceObservations(seededRandom(20_261_122), 10_000)
    expect({ stale, ways }).toEqual({ stale: 0, ways: ['hit', 'joined', 'run'] })
    expect(answers).toBeGreaterThan(2000)
  })
})

describe('CLOCK', () => {
  it('stays within its bytes, and keeps what was read since the hand was there', () => {
    const cache = new ClockCache<number>(10 * 137)
    for (const key of '0123456789') cache.put(key, 0, Number(key), 8)
    expect(cache.size).toBe(10)
    for (const key of '012') cache.get(key, 0)
    for (const key of 'abcdefg') cache.put(key, 0, 1, 8)
    expect(cache.bytes).toBeLessThanOrEqual(10 * 137)
    expect(['0', '1', '2'].map((key) => cache.get(key, 0))).toEqual([0, 1, 2])
    expect(['3', '4', '5'].map((key) => cache.get(key, 0))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(cache.evictions).toBe(7)
  })

  it('drops a value that is larger than all of it, and replaces one of another epoch', () => {
    const cache = new ClockCache<number>(1000)
    cache.put('a', 0, 1, 2000)
    expect(cache.get('a', 0)).toBe(undefined)
    cache.put('a', 1, 2, 8)
    expect([cache.get('a', 0), cache.get('a', 1), cache.size]).toEqual([undefined, 2, 1])
  })

  it('has a hit rate within 3 points of LRU on Zipf-distributed keys', () => {
    const keys = zipfKeys(seededRandom(7), { keys: 2000, count: 30_000, exponent: 1.1 })
    const cache = new ClockCache<number>(200 * 140)
    const lru = new Map<string, true>()
    let [clockHits, lruHits] = [0, 0]
    for (const key of keys) {
      if (cache.get(key, 0) !== undefined) clockHits++
      else cache.put(key, 0, 1, 12 - key.length)
      if (lru.delete(key)) lruHits++
      lru.set(key, true)
      if (lru.size > 200) lru.delete(lru.keys().next().value!)
    }
    expect(clockHits / keys.length).toBeGreaterThan(lruHits / keys.length - 0.03)
    expect(clockHits / keys.length).toBeGreaterThan(0.5)
  })
})

function zipfKeys(
  random: Random,
  { keys, count, exponent }: { keys: number; count: number; exponent: number },
): string[] {
  const cumulative: number[] = []
  let sum = 0
  for (let i = 1; i <= keys; i++) {
    sum += i ** -exponent
    cumulative.push(sum)
  }
  return Array.from({ length: count }, () => {
    const at = random.next() * sum
    let [low, high] = [0, keys - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (cumulative[middle]! < at) low = middle + 1
      else high = middle
    }
    return String(low)
  })
}

describe('the key of a request', () => {
  const tensor = (name: string, ...bytes: number[]) =>
    ({ name, datatype: 'UINT8', shape: [bytes.length], data: Uint8Array.from(bytes) }) as const

  it('is that of the inputs in any order, and another for another version, name, shape or byte', () => {
    const [a, b] = [tensor('a', 1, 2), tensor('b', 3)]
    expect(requestKey(1, [a, b])).toBe(requestKey(1, [b, a]))
    const keys = [
      requestKey(1, [a]),
      requestKey(2, [a]),
      requestKey(1, [a, b]),
      requestKey(1, [{ ...a, shape: [2, 1] }]),
      requestKey(1, [{ ...a, name: 'c' }]),
      requestKey(1, [tensor('a', 1, 3)]),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })
})
