/** One result in the output topic. */
export interface ResultRecord {
  readonly key: string
  readonly count: number
  readonly hash: number
}

/** Result of a comparison of results with the input. */
export interface OutputCheck {
  /** Number of missing results. */
  readonly lost: number
  /** Number of repeated results. */
  readonly duplicated: number
  /** Number of results that do not follow from the input. */
  readonly wrong: number
  /** Some findings, in words. */
  readonly examples: readonly string[]
}

const EXAMPLES = 5

/**
 * Compares results with the input. A key with n records must have exactly one result for each count from 1 to
 * n, with the hash of the fold at that count (`checks`, from count 0). Pure.
 */
export function checkOutputs(
  results: Iterable<ResultRecord>,
  checks: ReadonlyMap<string, readonly (number | undefined)[]>,
): OutputCheck {
  const seen = new Map([...checks].map(([key, list]) => [key, new Uint32Array(list.length)]))
  const examples: string[] = []
  const addExample = (text: string): void => {
    if (examples.length < EXAMPLES) examples.push(text)
  }
  let wrong = 0
  for (const { key, count, hash } of results) {
    const times = seen.get(key)
    if (times === undefined || count < 1 || checks.get(key)![count] !== hash) {
      wrong += 1
      addExample(`wrong: ${key} ${count} ${hash}`)
    } else times[count]! += 1
  }
  let lost = 0
  let duplicated = 0
  for (const [key, times] of seen) {
    for (let count = 1; count < times.length; count++) {
      const found = times[count]!
      if (found === 0) lost += 1
      else duplicated += found - 1
      if (found !== 1) addExample(`${found === 0 ? 'lost' : `${found} times`}: ${key} ${count}`)
    }
  }
  return { lost, duplicated, wrong, examples }
}
