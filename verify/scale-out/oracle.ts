import { type Folded, fold } from '../../test/recovery/fold/job.ts'
import { type TimedOperation, WINDOW_MS, type Windowed } from './job.ts'

/** What the topics of a run hold, as an independent client has read them. */
export interface RunTopics {
  /** The input; that of each key in the order of its partition. */
  readonly input: readonly TimedOperation[]
  readonly results: readonly Folded[]
  readonly windows: readonly Windowed[]
}

/** What was found in results. */
export interface Findings {
  /** Results that are missing. */
  readonly lost: number
  /** Results that are there once more. */
  readonly doubled: number
  /** Results with another value, or that no input makes. */
  readonly wrong: number
  /** Some of them, in words. */
  readonly details: readonly string[]
}

const MOST_DETAILS = 10

/**
 * Compares results with a plain fold of the input: each once, and no others. Windows from `lastStart` on, ms, have not
 * fired.
 */
export function judgeResults(topics: RunTopics, lastStart: number): Findings {
  const folds = compare('fold', expectedFolds(topics.input), topics.results.map(foldEntry))
  const windows = compare(
    'window',
    expectedWindows(topics.input, lastStart),
    topics.windows.map(windowEntry),
  )
  return {
    lost: folds.lost + windows.lost,
    doubled: folds.doubled + windows.doubled,
    wrong: folds.wrong + windows.wrong,
    details: [...folds.details, ...windows.details],
  }
}

/** A result by its name, with its value. */
type Entry = readonly [name: string, value: string]

const foldEntry = ({ key, count, hash }: Folded): Entry => [`${key} ${count}`, `${hash}`]
const windowEntry = ({ key, start, count, sum }: Windowed): Entry => [
  `${key} from ${start}`,
  `${count} ${sum}`,
]

function expectedFolds(input: readonly TimedOperation[]): Map<string, string> {
  const latest = new Map<string, Folded>()
  return new Map(
    input.map((operation) => {
      const next = fold(latest.get(operation.key), operation)
      latest.set(operation.key, next)
      return foldEntry(next)
    }),
  )
}

/** The windows that the input makes, before a start, ms. */
export function expectedWindows(
  input: readonly TimedOperation[],
  lastStart: number,
): Map<string, string> {
  const windows = new Map<string, Windowed>()
  for (const { key, amount, time } of input) {
    const start = time - (time % WINDOW_MS)
    if (start >= lastStart) continue
    const name = `${key} ${start}`
    const { count, sum } = windows.get(name) ?? { count: 0, sum: 0 }
    windows.set(name, { key, start, count: count + 1, sum: sum + amount })
  }
  return new Map([...windows.values()].map(windowEntry))
}

function compare(
  what: string,
  expected: ReadonlyMap<string, string>,
  found: readonly Entry[],
): Findings {
  const details: string[] = []
  const say = (sentence: string): void => {
    if (details.length < MOST_DETAILS) details.push(sentence)
  }
  const seen = new Set<string>()
  let [lost, doubled, wrong] = [0, 0, 0]
  for (const [name, value] of found) {
    const wanted = expected.get(name)
    if (seen.has(name)) {
      doubled += 1
      say(`${what} ${name} is there again, as ${value}`)
    } else if (wanted !== value) {
      wrong += 1
      say(`${what} ${name} is ${value}, not ${wanted ?? 'there at all by the input'}`)
    }
    seen.add(name)
  }
  for (const name of expected.keys()) {
    if (seen.has(name)) continue
    lost += 1
    say(`${what} ${name} is missing`)
  }
  return { lost, doubled, wrong, details }
}
