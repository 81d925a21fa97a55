import { expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { WorseTest } from '../../../src/models/quality/worse-test.ts'

const BOUND = 16

/** Squared errors of two predictors on a record; `bias`: of the first one, besides the noise that both have. */
function losses(bias: number, seed: number): () => readonly [first: number, second: number] {
  const random = seededRandom(seed)
  return () => {
    const noise = random.normal()
    return [(noise + bias + 0.3 * random.normal()) ** 2, (noise + 0.3 * random.normal()) ** 2]
  }
}

/** After how many records the first alarm comes; undefined where none does within `most`. */
function firstAlarm(
  test: WorseTest,
  next: () => readonly [first: number, second: number],
  most: number,
): number | undefined {
  for (let n = 1; n <= most; n++) if (test.add(...next())) return n
  return undefined
}

function copyOf(...tests: readonly WorseTest[]): WorseTest {
  const copy = new WorseTest(BOUND)
  for (const test of tests) {
    const writer = new ByteWriter()
    test.write(writer)
    copy.join(new ByteReader(writer.toBytes()))
  }
  return copy
}

it.each([1, 2, 3, 4, 5, 6])('finds nothing in 500,000 losses that are alike, seed %i', (seed) => {
  expect(firstAlarm(new WorseTest(BOUND), losses(0, seed), 500_000)).toBeUndefined()
})

it('finds nothing where the first one is worse in some sessions and better in others', () => {
  const random = seededRandom(7)
  const worse = losses(0.5, 8)
  let [left, isWorse] = [0, false]
  const next = (): readonly [number, number] => {
    if (left-- <= 0) {
      left = 5 + random.below(40)
      isWorse = random.below(2) === 0
    }
    const [first, second] = worse()
    return isWorse ? [first, second] : [second, first]
  }
  expect(firstAlarm(new WorseTest(BOUND), next, 500_000)).toBeUndefined()
})

it('finds a first one that diverges within some dozen records, whatever came before', () => {
  const diverged = (): readonly [number, number] => [1e6, 1]
  const fresh = new WorseTest(BOUND)
  expect(firstAlarm(fresh, diverged, 1000)).toBe(34)
  const long = new WorseTest(BOUND)
  // It was better for a long time.
  for (let n = 0; n < 100_000; n++) long.add(0.8, 1)
  expect(firstAlarm(long, diverged, 1000)).toBe(34)
})

it('finds a small difference, too', () => {
  const found = firstAlarm(new WorseTest(BOUND), losses(0.5, 3), 20_000)
  console.info(`a mean squared error of 1.34 beside one of 1.09 was found after ${found} records`)
  expect(found).toBeLessThan(10_000)
})

it('a loss that is no number counts as the bound', () => {
  const next = (): readonly [number, number] => [Number.NaN, 1]
  expect(firstAlarm(new WorseTest(BOUND), next, 1000)).toBe(34)
})

it('goes on after a checkpoint as if there had been none', () => {
  const next = losses(0.5, 3)
  let test = new WorseTest(BOUND)
  let count = 0
  do if (++count % 100 === 0) test = copyOf(test)
  while (!test.add(...next()))
  expect(count).toBe(firstAlarm(new WorseTest(BOUND), losses(0.5, 3), 20_000))
})

it('takes the larger evidence of the slots that it takes over', () => {
  const [near, far] = [new WorseTest(BOUND), new WorseTest(BOUND)]
  for (let n = 0; n < 33; n++) near.add(1e6, 1)
  for (let n = 0; n < 500; n++) far.add(0.9, 1)
  expect(copyOf(near, far).add(1e6, 1)).toBe(true)
  expect(copyOf(far, near).add(1e6, 1)).toBe(true)
  expect(copyOf(far).add(1e6, 1)).toBe(false)
})

it('forgets everything where it begins again', () => {
  const test = new WorseTest(BOUND)
  for (let n = 0; n < 33; n++) test.add(1e6, 1)
  test.restart()
  expect(test.add(1e6, 1)).toBe(false)
})

/** After how many records an alarm comes where one in `every` is compared, and where `follows` all of them while it is suspicious. */
function recordsToAlarm(
  next: () => readonly [first: number, second: number],
  { every, follows }: { readonly every: number; readonly follows: boolean },
): number {
  const test = new WorseTest(BOUND)
  for (let n = 1; n <= 500_000; n++) {
    const losses = next()
    const isCompared = n % every === 0 || (follows && test.isSuspicious)
    if (isCompared && test.add(...losses)) return n
  }
  return Number.POSITIVE_INFINITY
}

it.each([
  ['diverges', () => (): readonly [number, number] => [1e6, 1]],
  ['is worse by half a star', (seed: number) => losses(0.5, seed)],
  ['is worse by a star', (seed: number) => losses(1, seed)],
])(
  'one record in 16, and all while it is suspicious, find a first one that %s as early as one in four',
  (_, of) => {
    const seeds = [1, 2, 3, 4, 5, 6, 7]
    const median = (records: readonly number[]): number => [...records].sort((a, b) => a - b)[3]!
    const few = median(seeds.map((n) => recordsToAlarm(of(n), { every: 16, follows: true })))
    const four = median(seeds.map((n) => recordsToAlarm(of(n), { every: 4, follows: false })))
    console.info(`after ${few} records, with one in four after ${four}`)
    expect(few).toBeLessThan(1.5 * four)
  },
)

it('is suspicious of losses that are alike in less than a tenth of the time, and seldom of better ones', () => {
  const shareOf = (bias: number, isTurned: boolean): number => {
    const test = new WorseTest(BOUND)
    const next = losses(bias, 11)
    let suspicious = 0
    for (let n = 0; n < 200_000; n++) {
      const [first, second] = next()
      if (isTurned) test.add(second, first)
      else test.add(first, second)
      if (test.isSuspicious) suspicious++
    }
    return suspicious / 200_000
  }
  const [alike, better] = [shareOf(0, false), shareOf(0.2, true)]
  console.info(`suspicious in ${alike} and ${better} of the time`)
  expect(alike).toBeLessThan(0.1)
  expect(better).toBeLessThan(0.01)
})

it('a suspicion is in a checkpoint, too, and ends where the test begins again', () => {
  const test = new WorseTest(BOUND)
  while (!test.isSuspicious) test.add(1e6, 1)
  expect(copyOf(test).isSuspicious).toBe(true)
  test.restart()
  expect(test.isSuspicious).toBe(false)
})
