/** Facts about a model of a device with limited memory. Times are monotonic ms. */
export interface ResidentFacts {
  readonly key: string
  /** Memory of all its workers. */
  readonly bytes: number
  /** `entering` and `leaving` models hold their memory, too. */
  readonly state: 'in' | 'out' | 'entering' | 'leaving'
  /** Start of its latest run. */
  readonly lastRunAt: number
  /** Time until it is asked next, expected, ms. */
  readonly nextMs: number
  /** Time until it is due, ms, where it is asked in regular gaps; Infinity where it is not. */
  readonly dueMs: number
  /** It never leaves. */
  readonly isKept: boolean
  /** When it came in; 0 before the first time. */
  readonly enteredAt: number
  /** A request came since it went out. */
  readonly isWanted: boolean
  /** Requests that wait or run. */
  readonly requests: number
  /** Deadline of the first waiting request; Infinity for none. */
  readonly firstDeadline: number
  /** Expected time of its load and of one run after it, ms. */
  readonly readyMs: number
}

/** Models that come into the memory of a device now, and models that leave it after their run. */
export interface ResidencyDecision {
  readonly enter: readonly string[]
  readonly leave: readonly string[]
}

/** Time before a model is due at which it is fetched, in loads: a load may take longer than usual. */
const LEAD = 2

/** Time until the model is to be fetched without a request, ms; Infinity for none. Pure. */
export function fetchInMs({ state, isWanted, dueMs, readyMs }: ResidentFacts): number {
  return state === 'out' && !isWanted
    ? Math.max(0, dueMs - LEAD * readyMs)
    : Number.POSITIVE_INFINITY
}

/** Time before the last moment of a load at which a model with requests may be evicted for it, in loads. */
const MARGIN = 1

/**
 * Decides which models are in the memory of a device. Wanted models come in, the one with the least slack
 * first. Room is made by the least loss among models without requests: the time of a load, over the time until
 * the model is expected back and the memory that it frees (GreedyDual-Size-Frequency with expected times in place
 * of counts). Rafiqi's least recent use (3.4) evicts the next model each time that models are asked in turn. A
 * model with requests leaves only when a wanted one would otherwise be late, and not before its first run
 * since it came in: two models that are both busy take turns instead of ending each other's loads.
 * Memory that no one wants takes back the models with the largest loss, before they are asked for. A model that is asked
 * in regular gaps comes back before it is due, in the place of idle ones that can be back before they are. Pure.
 */
export function decideResidency(
  capacity: number,
  models: readonly ResidentFacts[],
  nowMs: number,
): ResidencyDecision {
  return new Residency(capacity, models, nowMs).decide()
}

class Residency {
  private readonly models: readonly ResidentFacts[]
  private readonly nowMs: number
  private readonly enter: string[] = []
  private readonly leave: string[] = []
  /** Bytes that no model holds, and bytes that come free when those who leave have left. */
  private free: number
  private coming: number

  constructor(capacity: number, models: readonly ResidentFacts[], nowMs: number) {
    this.models = models
    this.nowMs = nowMs
    const held = models.filter(({ state }) => state !== 'out')
    this.free = capacity - bytesOf(held)
    this.coming = bytesOf(models.filter(({ state }) => state === 'leaving'))
  }

  decide(): ResidencyDecision {
    const out = this.models.filter(({ state }) => state === 'out')
    const wanted = out.filter(({ isWanted }) => isWanted).sort(bySlack)
    for (const model of wanted) this.admit(model, this.candidates(model))
    if (wanted.length === 0) this.fetch(out)
    return { enter: this.enter, leave: this.leave }
  }

  /** Lets the model in, or makes room for it by the first of the candidates. */
  private admit(model: ResidentFacts, candidates: readonly ResidentFacts[]): void {
    if (model.bytes <= this.free) {
      this.free -= model.bytes
      this.enter.push(model.key)
      return
    }
    // What is free already is kept for this model: it is the next one.
    const missing = model.bytes - this.free
    this.free = 0
    if (missing > this.coming) this.evict(candidates, missing - this.coming)
    this.coming = Math.max(0, this.coming - missing)
  }

  /** Evicts the first of the candidates that free so many bytes; none when all of them are not enough. */
  private evict(candidates: readonly ResidentFacts[], bytes: number): void {
    const victims: ResidentFacts[] = []
    for (const candidate of candidates) {
      if (bytesOf(victims) >= bytes) break
      victims.push(candidate)
    }
    if (bytesOf(victims) < bytes) return
    this.leave.push(...victims.map(({ key }) => key))
    this.coming += bytesOf(victims)
  }

  /** Models that may leave for one that is wanted: idle ones first, each kind by the least loss. */
  private candidates({ firstDeadline, readyMs }: ResidentFacts): ResidentFacts[] {
    const idle = this.idle()
    if (this.nowMs < firstDeadline - readyMs * (1 + MARGIN)) return idle
    const busy = this.inside().filter((one) => one.requests > 0 && one.lastRunAt > one.enteredAt)
    return [...idle, ...busy.sort(byLoss)]
  }

  private inside(): ResidentFacts[] {
    return this.models.filter(
      ({ state, key, isKept }) => state === 'in' && !isKept && !this.leave.includes(key),
    )
  }

  private idle(): ResidentFacts[] {
    return this.inside()
      .filter(({ requests }) => requests === 0)
      .sort(byLoss)
  }

  /** Lets models in that no one wants yet: those that are due, then the ones with the largest loss. */
  private fetch(out: readonly ResidentFacts[]): void {
    const due = out.filter((model) => fetchInMs(model) === 0).sort((a, b) => a.dueMs - b.dueMs)
    for (const model of due) {
      const isBackInTime = (one: ResidentFacts): boolean =>
        one.nextMs > model.dueMs + model.readyMs + one.readyMs
      this.admit(model, this.idle().filter(isBackInTime))
    }
    const others = out.filter((model) => !due.includes(model))
    for (const model of others.sort(byLoss).reverse()) {
      if (model.bytes <= this.free) this.admit(model, [])
    }
  }
}

function bytesOf(models: readonly ResidentFacts[]): number {
  return models.reduce((sum, { bytes }) => sum + bytes, 0)
}

const slackOf = ({ firstDeadline, readyMs }: ResidentFacts): number => firstDeadline - readyMs
const bySlack = (a: ResidentFacts, b: ResidentFacts): number =>
  slackOf(a) === slackOf(b) ? 0 : slackOf(a) - slackOf(b)

/** Time of loads that it costs to be without the model, a ms and byte. */
const lossOf = ({ readyMs, nextMs, bytes }: ResidentFacts): number =>
  readyMs / (Math.max(1, nextMs) * Math.max(1, bytes))
/** The least loss first; of equal ones the least recent run. */
const byLoss = (a: ResidentFacts, b: ResidentFacts): number =>
  lossOf(a) - lossOf(b) || a.lastRunAt - b.lastRunAt
