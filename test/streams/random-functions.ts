import type { Random } from '../../src/core/random.ts'

/** A record of the campaign. */
export interface Reading {
  readonly key: string
  readonly time: number
  value: number
}

/** A function of `reduce`, made anew for each attempt, as a job makes it anew. */
export interface RandomReduce {
  readonly name: string
  /** Whether it is associative and commutative, so that a user may declare it. */
  readonly isAssociative: boolean
  create(): (a: Reading, b: Reading) => Reading
}

type Combine = (a: number, b: number) => number

const associative = (name: string, value: Combine): RandomReduce => ({
  name,
  isAssociative: true,
  create: () => (a, b) => ({
    key: a.key,
    time: Math.min(a.time, b.time),
    value: value(a.value, b.value),
  }),
})

const inTurn = (name: string, value: Combine): RandomReduce => ({
  name,
  isAssociative: false,
  create: () => (a, b) => ({ ...a, value: value(a.value, b.value) }),
})

/** What a function has kept, each with the text that it had then. */
export const kept: [Reading, string][] = []

const KINDS: readonly RandomReduce[] = [
  associative('sum', (a, b) => (a + b) % 1e6),
  associative('max', Math.max),
  inTurn('difference', (a, b) => a - b),
  inTurn('digits', (a, b) => (a * 7 + b) % 9973),
  inTurn('count of large ones', (a, b) => a + (b >= 50 ? 1 : 0)),
  inTurn('count', (a) => a + 1),
  inTurn('last', (_a, b) => b),
  {
    name: 'mutating',
    isAssociative: false,
    create: () => (a, b) => {
      a.value = a.value * 2 - b.value
      if (Math.abs(a.value) > 1e6) a.value = 1
      return a
    },
  },
  {
    name: 'keeping',
    isAssociative: false,
    create: () => (a, b) => {
      for (const each of [a, b]) {
        if (kept.length < 64) kept.push([each, JSON.stringify(each)])
      }
      return { ...a, value: a.value + 2 * b.value }
    },
  },
  {
    name: 'with a state of its own',
    isAssociative: false,
    create: () => {
      const calls = new Map<string, number>()
      return (a, b) => {
        const n = (calls.get(a.key) ?? 0) + 1
        calls.set(a.key, n)
        return { ...a, value: a.value + n * b.value }
      }
    },
  },
]

/** A function at random. */
export function randomReduce(random: Random): RandomReduce {
  return KINDS[random.below(KINDS.length)]!
}

/** Throws once, at the n-th call over all attempts. */
export class Failure {
  private calls = 0
  private readonly at: number

  constructor(at: number) {
    this.at = at
  }

  /** The function that fails once. */
  around(reduce: (a: Reading, b: Reading) => Reading): (a: Reading, b: Reading) => Reading {
    return (a, b) => {
      this.calls += 1
      if (this.calls === this.at) throw new Error('the function failed')
      return reduce(a, b)
    }
  }
}

/** Whether a thrown error is that of a `Failure`. */
export function isFailure(error: unknown): boolean {
  return error instanceof Error && error.message.includes('the function failed')
}
