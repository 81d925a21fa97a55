/** One result as a reader of the output topic saw it. */
export interface ResultRecord {
  readonly key: string
  readonly count: number
  readonly hash: number
}

/** What a comparison of results with the input found. */
export interface OutputCheck {
  /** Results that should be there and are not. */
  readonly lost: number
  /** Results that are there more often than once. */
  readonly duplicated: number
  /** Results that no input explains. */
  readonly wrong: number
  /** Some of what was found, in words. */
  readonly examples: readonly string[]
}

const EXAMPLES = 5

/**
 * Compares results with the input: of a key with n records there is a result for each count from 1
 * to n, once, with the hash that the fold has then (`checks`, from count 0 on). Pure.
 */
export function checkOutputs(
  results: Iterable<ResultRecord>,
  checks: ReadonlyMap<string, readonly (number | undefined)[]>,
): OutputCheck {
  const seen = new Map([...checks].map(([key, list]) => [key, new Uint32Array(list.length)]))
  const examples: string[] = []
  const note = (text: string): void => {
    if (examples.length < EXAMPLES) examples.push(text)
  }
  let wrong = 0
  for (const { key, count, hash } of results) {
    const times = seen.get(key)
    if (times === undefined || count < 1 || checks.get(key)![count] !== hash) {
      wrong += 1
      note(`wrong: ${key} ${count} ${hash}`)
    } else times[count]! += 1
  }
  let lost = 0
  let duplicated = 0
  for (const [key, times] of seen) {
    for (let count = 1; count < times.length; count++) {
      const found = times[count]!
      if (found === 0) lost += 1
      else duplicated += found - 1
      if (found !== 1) note(`${found === 0 ? 'lost' : `${found} times`}: ${key} ${count}`)
    }
  }
  return { lost, duplicated, wrong, examples }
}
