import type { Disturbance, KeyLedger, Observation, StateLedger, Violation } from './observation.ts'

/** One queryable state's part of a history. */
interface StateHistory {
  readonly ledger: StateLedger
  readonly observations: readonly Observation[]
}

/**
 * Checks a history of answers against the input: every value is a fold of the first records of its
 * key, at the position that it says, and no answer is one that its level forbids. Pure.
 */
export function checkHistory(
  observations: readonly Observation[],
  ledgers: ReadonlyMap<string, StateLedger>,
): Violation[] {
  const violations: Violation[] = []
  for (const [state, ledger] of ledgers) {
    const ofState = observations.filter((observation) => observation.state === state)
    const history = { ledger, observations: ofState }
    violations.push(...checkValues(history), ...checkSessions(history))
    violations.push(...checkCheckpointLevel(history), ...checkCuts(history))
  }
  return violations
}

function checkValues({ ledger, observations }: StateHistory): Violation[] {
  return observations.flatMap((observation) => {
    const key = ledger.keys.get(observation.key)
    if (key === undefined) return [wrong('wrong-value', observation, 'the input has no such key')]
    return checkOne(observation, key, ledger.positions)
  })
}

function checkOne(observation: Observation, key: KeyLedger, positions: boolean): Violation[] {
  const { version, check, partition, offset, level } = observation
  const records = Math.max(0, version)
  const expected = key.checks[records]
  if (records > key.offsets.length || version < 0 !== (expected === undefined)) {
    const known = `of ${key.offsets.length} records`
    return [wrong('wrong-value', observation, `version ${version} ${known} cannot be`)]
  }
  if (version >= 0 && check !== expected) {
    return [wrong('wrong-value', observation, `${check} where the fold gives ${expected}`)]
  }
  if (
    positions &&
    version > 0 &&
    (partition !== key.partition || offset !== key.offsets[version - 1])
  ) {
    const right = `${key.partition}:${key.offsets[version - 1]}`
    return [wrong('wrong-position', observation, `${partition}:${offset} where it is ${right}`)]
  }
  if (level === 'at-least') return checkBound(observation, key, records)
  return level === 'checkpoint' ? [] : checkAge(observation, key, records)
}

/** Read your writes: the records up to the bound are in. */
function checkBound(observation: Observation, key: KeyLedger, records: number): Violation[] {
  const { bound } = observation
  if (bound === undefined || bound.partition !== key.partition) return []
  const needed = countBelow(key.offsets, bound.offset + 1)
  if (records >= needed) return checkAge(observation, key, records)
  const said = `${needed} records lie up to ${bound.partition}:${bound.offset}`
  return [wrong('lost-write', observation, said)]
}

/** Bounded age, both what was asked for and what the answer says of itself. */
function checkAge(observation: Observation, key: KeyLedger, records: number): Violation[] {
  const { level, maxAgeMs, ageMs, startedMs } = observation
  const ages: number[] = []
  if (level === 'bounded' && maxAgeMs !== undefined) ages.push(maxAgeMs)
  if (ageMs >= 0) ages.push(ageMs)
  for (const age of ages) {
    // The answer was made after `startedMs`, so this asks for no more than was promised.
    const needed = countBelow(key.storedMs, startedMs - age)
    if (records >= needed) continue
    const said = `at most ${age} ms old, but ${needed} records were stored before`
    return [wrong('too-old', observation, said)]
  }
  return []
}

/** Values of a session never go back, unless a restart of the job lies between. */
function checkSessions({ ledger, observations }: StateHistory): Violation[] {
  const violations: Violation[] = []
  const last = new Map<string, Observation>()
  const live = observations.filter(({ level }) => level !== 'checkpoint')
  for (const now of inOrder(live)) {
    const name = `${now.session}/${now.key}`
    const before = last.get(name)
    last.set(name, now)
    if (before === undefined || now.version >= before.version) continue
    if (wasDisturbed(ledger.disturbances, before.startedMs, now.answeredMs)) continue
    violations.push(wrong('went-back', now, `the session had seen version ${before.version}`))
  }
  return violations
}

/**
 * Values of the checkpoint level never go back, whoever asks and whatever crashes; and no other
 * level shows less than they showed before.
 */
function checkCheckpointLevel({ observations }: StateHistory): Violation[] {
  const violations: Violation[] = []
  for (const ofKey of byKey(observations).values()) {
    const shown = ofKey
      .filter(({ level }) => level === 'checkpoint')
      .sort((a, b) => a.answeredMs - b.answeredMs)
    let next = 0
    let highest = -1
    for (const now of inOrder(ofKey)) {
      // Only answers that were complete before this question was asked bind it.
      for (; next < shown.length && shown[next]!.answeredMs < now.startedMs; next++) {
        highest = Math.max(highest, shown[next]!.version)
      }
      if (now.version >= highest) continue
      const kind = now.level === 'checkpoint' ? 'checkpoint-went-back' : 'below-checkpoint'
      violations.push(wrong(kind, now, `level checkpoint had shown version ${highest}`))
    }
  }
  return violations
}

/** The bounds that answers of one checkpoint put on its cut through one partition. */
interface Cut {
  /** Every record up to here is in. */
  atLeast: number
  /** The record here is not. */
  below: number
}

/** Answers of one checkpoint are one cut: a position per partition up to which all records are in. */
function checkCuts({ ledger, observations }: StateHistory): Violation[] {
  const violations: Violation[] = []
  const cuts = new Map<string, Cut>()
  for (const now of observations) {
    const key = ledger.keys.get(now.key)
    // That a key does not exist is said without a checkpoint.
    if (now.level !== 'checkpoint' || key === undefined || now.checkpointId === 0) continue
    const records = Math.max(0, now.version)
    const name = `${now.checkpointId}/${key.partition}`
    const cut = cuts.get(name) ?? { atLeast: -1, below: Number.POSITIVE_INFINITY }
    cut.atLeast = Math.max(cut.atLeast, key.offsets[records - 1] ?? -1)
    cut.below = Math.min(cut.below, key.offsets[records] ?? Number.POSITIVE_INFINITY)
    cuts.set(name, cut)
    if (cut.atLeast < cut.below) continue
    const said = `checkpoint ${now.checkpointId} has ${cut.atLeast} and lacks ${cut.below} of partition ${key.partition}`
    violations.push(wrong('no-single-cut', now, said))
    cuts.delete(name)
  }
  return violations
}

function byKey(observations: readonly Observation[]): Map<string, Observation[]> {
  const keys = new Map<string, Observation[]>()
  for (const observation of observations) {
    const list = keys.get(observation.key)
    if (list === undefined) keys.set(observation.key, [observation])
    else list.push(observation)
  }
  return keys
}

const inOrder = (observations: readonly Observation[]): Observation[] =>
  [...observations].sort((a, b) => a.startedMs - b.startedMs)

function wasDisturbed(disturbances: readonly Disturbance[], fromMs: number, toMs: number): boolean {
  return disturbances.some((one) => one.fromMs <= toMs && one.toMs >= fromMs)
}

/** How many of the rising numbers are below a limit. */
export function countBelow(rising: readonly number[], limit: number): number {
  let low = 0
  let high = rising.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rising[middle]! < limit) low = middle + 1
    else high = middle
  }
  return low
}

function wrong(kind: Violation['kind'], observation: Observation, why: string): Violation {
  const { state, key, session, level, version, checkpointId, startedMs, answeredMs } = observation
  const asked = `${state} ${key} at ${level} by session ${session}`
  const when = `${new Date(startedMs).toISOString()} + ${answeredMs - startedMs} ms`
  return {
    kind,
    detail: `${asked}: version ${version}, checkpoint ${checkpointId}; ${why}; ${when}`,
  }
}
