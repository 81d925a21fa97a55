import type { Random } from '../../src/core/random.ts'
import {
  eventTimeSessionWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { listState, valueState } from '../../src/state/port/descriptors.ts'
import {
  EvolvingJob,
  keyedVersion,
  type Version,
  type Word,
} from '../runtime/savepoints/evolving-job.ts'
import { type Difference, differenceOf, SAME } from './difference.ts'

/** A version of a job, and the versions that may follow it. */
interface Kind {
  readonly name: string
  readonly version: Version
}

const counting = (state: string, keyBy?: (word: Word) => unknown): Version =>
  keyedVersion({
    ...(keyBy && { keyBy }),
    open(context) {
      const count = context.getState(valueState<number>(state))
      return ({ word }, out) => {
        // A number whatever was stored: 'x' + 1 would be a text again, which no check of types can see.
        count.update(Number(count.value() ?? 0) + 1)
        out.collect(`${word} ${count.value()}`)
      }
    },
  })

const listing: Version = keyedVersion({
  open(context) {
    const list = context.getListState(listState<string>('count'))
    return ({ word }, out) => {
      list.add(word)
      out.collect(`${word} ${list.get().length}`)
    }
  },
})

const texts: Version = keyedVersion({
  open(context) {
    const text = context.getState(valueState<string>('count'))
    return ({ word }, out) => {
      text.update(`${text.value() ?? ''}x`)
      out.collect(`${word} ${text.value()!.length}`)
    }
  },
})

/** Versions that count the words of a key. */
const COUNTING: readonly Kind[] = [
  { name: 'counting', version: counting('count') },
  { name: 'a renamed state', version: counting('count-2') },
  { name: 'keys that are numbers', version: counting('count', ({ word }) => Number(word)) },
  { name: 'keys that are tuples', version: counting('count', ({ word }) => [word]) },
  { name: 'a list', version: listing },
  { name: 'texts', version: texts },
]

/** Versions with one operator of windows each, which has the uid `state`. */
const WINDOWS: readonly Kind[] = Object.entries({
  'tumbling windows': tumblingEventTimeWindows(1000),
  'larger tumbling windows': tumblingEventTimeWindows(2000),
  sessions: eventTimeSessionWindows(1000),
}).map(([name, assigner]) => {
  const version: Version = (words) => {
    const keyed = words.keyBy(({ word }) => word)
    const reduced = keyed.window(assigner).reduce((a) => a)
    return reduced
      .uid('state')
      .map(({ word }) => word)
      .uid('out')
  }
  return { name, version }
})

/**
 * A job that is stopped with a savepoint, and another version that starts from it: the counts go on, or the start is
 * refused, and then the former version still goes on.
 */
export async function changedCase(random: Random, folder: string): Promise<Difference> {
  const kinds = random.below(2) === 0 ? COUNTING : WINDOWS
  const [before, after] = [kinds[random.below(kinds.length)]!, kinds[random.below(kinds.length)]!]
  const counts = kinds === COUNTING
  const words = Array.from({ length: 1 + random.below(5) }, () => String(random.below(3)))
  const job = new EvolvingJob(folder)
  await job.run(before.version, words, counts ? {} : { results: 0 })
  const next = '1'
  // A window that is open keeps its bounds.
  const together = before === after || words.every((word) => word !== next)
  const fired = together ? new Set([...words, next]) : [...new Set(words), next]
  const expected = counts ? [`1 ${words.filter((word) => word === next).length + 1}`] : [...fired]
  const more: Word[] = counts ? [{ word: next, at: 6 }] : [{ word: next, at: 6 }, LATEST]
  const run = { results: expected.length }
  try {
    const results = await job.run(after.version, more, run)
    return named(differenceOf(results, expected.toSorted()), before, after)
  } catch (error) {
    const isRefused = /STATE_CONFLICT|STATE_LEFT_OVER/.test(String(error))
    const areTumbling = [before, after].every(({ name }) => name.endsWith('tumbling windows'))
    if (!isRefused || before === after || areTumbling)
      return { wrong: [], lost: [`${before.name} -> ${after.name}: ${error}`] }
  }
  const again = await job.repeat(before.version, {
    results: counts ? 1 : new Set([...words, next]).size,
  })
  const former = counts ? expected : [...new Set([...words, next])]
  return named(differenceOf(again, former), before, after)
}

/** Lets all windows of the others fire. */
const LATEST: Word = { word: 'end', at: 1_000_000 }

function named({ wrong, lost }: Difference, before: Kind, after: Kind): Difference {
  if (wrong.length + lost.length === 0) return SAME
  const name = (text: string): string => `${before.name} -> ${after.name}: ${text}`
  return { wrong: wrong.map(name), lost: lost.map(name) }
}
