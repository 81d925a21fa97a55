import type { Disturbance, KeyLedger, Observation, StateLedger, Violation } from './observation.ts'

/** The part of a history about one queryable state. */
interface StateHistory {
  readonly ledger: StateLedger
  readonly observations: readonly Observation[]
}

/**
 * Checks a history of answers against the input. Every value must be a fold of the first records of its key,
 * with the position of the last of them, and no answer may break the promise of its level. Pure.
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
    if (key === undefined)
      return [wrong('wrong-value', observation, 'the input does not have this key')]
    return checkOne(observation, key, ledger)
  })
}

function checkOne(
  observation: Observation,
  key: KeyLedger,
  { positions }: StateLedger,
): Violation[] {
  const { version, check, partition, offset, level } = observation
  const records = Math.max(0, version)
  const expected = key.checks[records]
  if (records > key.offsets.length || version < 0 !== (expected === undefined)) {
    const known = `of ${key.offsets.length} records`
    return [wrong('wrong-value', observation, `version ${version} ${known} is impossible`)]
  }
  if (version >= 0 && check !== expected) {
    return [wrong('wrong-value', observation, `${check}, but the fold is ${expected}`)]
  }
  if (
    positions &&
    version > 0 &&
    (partition !== key.partition || offset !== key.offsets[version - 1])
  ) {
    const right = `${key.partition}:${key.offsets[version - 1]}`
    return [
      wrong(
        'wrong-position',
        observation,
        `${partition}:${offset}, but the right position is ${right}`,
      ),
    ]
  }
  const wrongBound = level === 'at-least' ? checkBound(observation, key, records) : []
  return wrongBound.length > 0 ? wrongBound : checkAge(observation, key, records)
}

/** Checks read-your-writes: the value has the records up to the bound. */
function checkBound(observation: Observation, key: KeyLedger, records: number): Violation[] {
  const { bound } = observation
  if (bound === undefined || bound.partition !== key.partition) return []
  const needed = countBelow(key.offsets, bound.offset + 1)
  if (records >= needed) return []
  const said = `there are ${needed} records up to ${bound.partition}:${bound.offset}`
  return [wrong('lost-write', observation, said)]
}

/** Checks the age, both the requested bound and the age in the answer. */
function checkAge(observation: Observation, key: KeyLedger, records: number): Violation[] {
  const { level, maxAgeMs, ageMs, startedMs } = observation
  const ages: number[] = []
  if (level === 'bounded' && maxAgeMs !== undefined) ages.push(maxAgeMs)
  if (ageMs >= 0) ages.push(ageMs)
  for (const age of ages) {
    // The answer is newer than `startedMs`, so this check is never stricter than the promise.
    const needed = countBelow(key.storedMs, startedMs - age)
    if (records >= needed) continue
    const sinceMs = Math.round(startedMs - key.storedMs[records]!)
    const said = `at most ${age} ms old, but ${needed} records were stored before`
    const first = `${key.partition}:${key.offsets[records]} ${sinceMs} ms before the query`
    return [wrong('too-old', observation, `${said}; the first of the missing ones is ${first}`)]
  }
  return []
}

/** Checks that values of a session do not go back, unless the job restarted between them. */
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
    violations.push(
      wrong('went-back', now, `the session has read version ${before.version} before`),
    )
  }
  return violations
}

/**
 * Checks that values of the checkpoint level never go back, in any session and after any crash, and that no
 * other level returns an older value than they did before.
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
      // Only answers from before the start of this query matter.
      for (; next < shown.length && shown[next]!.answeredMs < now.startedMs; next++) {
        highest = Math.max(highest, shown[next]!.version)
      }
      if (now.version >= highest) continue
      const kind = now.level === 'checkpoint' ? 'checkpoint-went-back' : 'below-checkpoint'
      violations.push(wrong(kind, now, `level checkpoint has returned version ${highest} before`))
    }
  }
  return violations
}

/** Bounds of the cut of one checkpoint through one partition, from its answers. */
interface Cut {
  /** Every record up to this offset is in the checkpoint. */
  atLeast: number
  /** The record at this offset is not. */
  below: number
}

/** Checks that the answers of a checkpoint are one cut: a position per partition up to which it has all records. */
function checkCuts({ ledger, observations }: StateHistory): Violation[] {
  const violations: Violation[] = []
  const cuts = new Map<string, Cut>()
  for (const now of observations) {
    const key = ledger.keys.get(now.key)
    // An answer about a missing key has no checkpoint.
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

/** Number of values below a limit, in an ascending list. */
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
  const { state, key, session, level, startedMs, answeredMs } = observation
  const { version, partition, offset, ageMs, checkpointId } = observation
  const asked = `${state} ${key} at ${level} by session ${session}`
  const when = `${new Date(startedMs).toISOString()} + ${answeredMs - startedMs} ms`
  return {
    kind,
    detail: `${asked}: version ${version} at ${partition}:${offset}, age ${ageMs} ms, checkpoint ${checkpointId}; ${why}; ${when}`,
  }
}
