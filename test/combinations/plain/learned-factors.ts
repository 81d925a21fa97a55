import { keyGroupOf, subtaskOfKeyGroup } from '../../../src/core/key-group.ts'
import { isPairInSample } from '../../../src/jobs/learning/als/frozen-rows.ts'
import type { Installation, TopicEntry } from '../installation.ts'
import type { Rows } from '../service.ts'
import type { Progress, ReportedError } from './progress.ts'
import type { Publication } from './publication.ts'
import type { PlainRule, PlainStep } from './rule.ts'
import type { PlainRow } from './sides.ts'

/** What is to be recomputed. */
export interface FactorsOptions {
  readonly model: string
  readonly observations: string
  readonly publication: Publication
  readonly rule: PlainRule
  readonly isImplicit: boolean
}

/** A difference of a float32 that was computed in another order of its terms. */
const ROUNDING = 2e-4
/** The change of a row is not known more exactly. */
const LEAST = 1e-4
/** Steps that are so near may both be the one. */
const SAME = 5e-6
/** Rows that are so near are one. */
const LIKE = 1e-6
/** Rows of a user that are kept, the most likely first. */
const MOST_ROWS = 8
/** Key groups of a job; only which slot measures a user depends on them. */
const KEY_GROUPS = 128
/** The weight of an error is multiplied by it with each later one. */
const FADING = 0.999

/** A delta of the version, with the number of different deltas of its item before it. */
interface Delta {
  readonly place: string
  readonly offset: number
  readonly itemKey: string
  readonly floats: readonly number[]
  readonly before: number
  /** Whether its rating has no earlier one: only that is folded. */
  readonly isFirst: boolean
  /** Where it is in the topic. */
  readonly order: string
}

/** Losses of predictions without learning, by the user whose they are. */
interface Frozen {
  readonly user: string
  readonly loss: number
}

/** A rating that was learned. */
interface LearnedRating {
  readonly delta: Delta
  readonly userKey: string
  readonly rating: number
  /** The rows of its item that the step can have read. */
  readonly states: readonly PlainRow[]
  /** The user's row after it, where that is known. */
  readonly after: readonly number[] | undefined
}

/** What changes as the job goes on, and goes back with a savepoint. */
interface Learned {
  /** By key, the rows that a user can have: a step can be the same from several states of its item. */
  readonly users: Map<string, readonly PlainRow[]>
  /** Deltas that were looked at, by their place in the topic. */
  readonly seen: Set<string>
  /** Of each rating, the least and the most that its error can have been. */
  losses: (readonly [number, number])[]
  frozen: Frozen[]
}

/**
 * Recomputes what a version has learned. The order in which slots fold deltas is that of the topic; which of them a step has seen is not
 * written down. So each step is computed from each state of its item that there was before it, and those count that
 * give what the job had: its delta, and the user's row in the delta after it or, after the last one, as it is served.
 */
export class LearnedFactors implements Progress {
  private readonly options: FactorsOptions
  private readonly learned: Learned

  constructor(
    options: FactorsOptions,
    learned: Learned = { users: new Map(), seen: new Set(), losses: [], frozen: [] },
  ) {
    this.options = options
    this.learned = learned
  }

  copy(): LearnedFactors {
    const { users, losses, frozen, seen } = this.learned
    return new LearnedFactors(this.options, {
      users: new Map(users),
      seen: new Set(seen),
      losses: [...losses],
      frozen: [...frozen],
    })
  }

  goBackTo(earlier: LearnedFactors): void {
    // What the abandoned run has sent stays in the topic: items fold it, and it is no step of the next run.
    const { users, losses, frozen } = earlier.copy().learned
    Object.assign(this.learned, { users, losses, frozen })
  }

  async goOn(at: Installation, served: Rows): Promise<readonly string[]> {
    const { observations } = this.options
    const lines = new Map(
      (await at.records(observations)).map((entry) => [placeOf(entry), entry.value.toString()]),
    )
    const deltas = await this.deltas(at)
    const items = this.itemStates(deltas)
    const added = deltas.filter(({ order }) => !this.learned.seen.has(order))
    added.sort((a, b) => a.offset - b.offset)
    const problems: string[] = []
    for (const [n, delta] of added.entries()) {
      this.learned.seen.add(delta.order)
      const [user, item, rating] = lines.get(delta.place)!.split(',') as [string, string, string]
      if (`${item}-I` !== delta.itemKey)
        problems.push(`${delta.place}: a delta of ${delta.itemKey}`)
      const next = added.slice(n + 1).find(({ place }) => lines.get(place)!.startsWith(`${user},`))
      const userKey = `${user}-U`
      const states = items.get(delta.itemKey)!.slice(0, delta.before + 1)
      const after = this.rowAfter(userKey, next, served)
      const found = this.learn({ delta, states, userKey, rating: Number(rating), after })
      if (found !== undefined) problems.push(`rating ${delta.place} ${found}`)
    }
    return [...problems, ...this.wrongRows(items, served)]
  }

  check({ count, loss, slots }: ReportedError, hasFirstSlots: boolean): readonly string[] {
    const { losses, frozen } = this.learned
    const problems: string[] = []
    if (count !== losses.length)
      problems.push(`${count} ratings are reported, not ${losses.length}`)
    const [least, most] = [0, 1].map((end) => mean(losses.map((loss) => loss[end]!)))
    if (!(loss >= least! * (1 - 1e-4) && loss <= most! * (1 + 1e-4))) {
      problems.push(`the error is ${loss}, not between ${least} and ${most}`)
    }
    const parts = slots as readonly FrozenPart[]
    const sampled = parts.reduce((sum, part) => sum + part.frozenRatings, 0)
    if (sampled !== frozen.length) {
      problems.push(`${sampled} ratings are of the sample, not ${frozen.length}`)
    }
    return hasFirstSlots ? [...problems, ...this.wrongFrozen(parts)] : problems
  }

  /**
   * Checks the error without learning of a job that had its slots from the start: with another number of slots, whose
   * measures a slot takes over is for other tests.
   */
  private wrongFrozen(parts: readonly FrozenPart[]): readonly string[] {
    return parts.flatMap(({ slot, parallelism, frozenMse }) => {
      const own = this.learned.frozen.filter(({ user }) => {
        const group = keyGroupOf(Buffer.from(user), KEY_GROUPS)
        return subtaskOfKeyGroup(group, parallelism, KEY_GROUPS) === slot
      })
      if (own.length === 0) return []
      const wanted = faded(own.map(({ loss }) => loss))
      const isRight = Math.abs(frozenMse - wanted) <= 1e-4 * wanted
      return isRight ? [] : [`slot ${slot}: the frozen error is ${frozenMse}, not ${wanted}`]
    })
  }

  /** The row of a user after a rating, where it is known: that of its next delta, or the one that is served. */
  private rowAfter(
    userKey: string,
    next: Delta | undefined,
    served: Rows,
  ): readonly number[] | undefined {
    if (next === undefined) return [...(served.get(userKey) ?? [])]
    return this.options.rule.showsItem ? undefined : next.floats
  }

  /** Learns a rating; says what is wrong with it. */
  private learn({ delta, states, userKey, rating, after }: LearnedRating): string | undefined {
    const { rule } = this.options
    const { users } = this.learned
    const offOf = ({ user, delta: own }: PlainStep): number =>
      Math.max(
        difference(own.slice(0, -1), delta.floats),
        Math.abs(own.at(-1)! - delta.floats.at(-1)!),
        after === undefined ? 0 : difference([...user.row], after),
      )
    const tried = (users.get(userKey) ?? [rule.users.first(userKey)]).flatMap((user) =>
      states.map((item) => {
        const step = rule.step({ userKey, user, item, rating })
        return { step, off: offOf(step), loss: this.lossOf(user.row, item.row, rating) }
      }),
    )
    const least = Math.min(...tried.map(({ off }) => off))
    const possible = tried
      .filter(({ off }) => off <= Math.max(SAME, least))
      .sort((a, b) => a.off - b.off)
    users.set(userKey, different(possible.map(({ step }) => step.user)))
    const losses = possible.map(({ loss }) => loss)
    this.learned.losses.push([Math.min(...losses), Math.max(...losses)])
    this.measureFrozen(userKey, delta.itemKey, rating)
    return least <= ROUNDING ? undefined : `of ${userKey} has another step: ${least}`
  }

  private measureFrozen(userKey: string, itemKey: string, rating: number): void {
    const { rule } = this.options
    const item = Buffer.from(itemKey)
    const span = { bytes: item, start: 0, length: item.length }
    if (!isPairInSample(Buffer.from(userKey), span)) return
    const published = [rule.users.first(userKey).row, rule.items.first(itemKey).row] as const
    this.learned.frozen.push({ user: userKey, loss: this.lossOf(...published, rating) })
  }

  private lossOf(user: Float32Array, item: Float32Array, rating: number): number {
    const score = user.reduce((sum, x, i) => sum + x * item[i]!, 0)
    return ((this.options.isImplicit ? Number(rating > 0) : rating) - score) ** 2
  }

  /** All deltas of the version in the order of their partitions, also those that came twice. */
  private async deltas(at: Installation): Promise<Delta[]> {
    const { model, publication } = this.options
    const different = new Map<string, Set<string>>()
    const found: Delta[] = []
    for (const entry of await at.records(`${model}-deltas`)) {
      const { key, value } = entry
      const [itemKey, version] = key.split('@') as [string, string]
      if (Number(version) !== publication.version) continue
      const offset = value.readUInt32LE(12) * 2 ** 32 + value.readUInt32LE(8)
      const place = `${value.readUInt32LE(4)}/${offset}`
      const known = different.get(itemKey) ?? new Set()
      different.set(itemKey, known)
      const header = 20
      const floats = Array.from({ length: (value.length - header) / 4 }, (_, n) =>
        value.readFloatLE(header + 4 * n),
      )
      const order = placeOf(entry)
      const isFirst = !known.has(place)
      found.push({ place, offset, itemKey, floats, before: known.size, isFirst, order })
      known.add(place)
    }
    return found
  }

  /** By item, its rows: as published, and after each different delta, the first of each rating. */
  private itemStates(deltas: readonly Delta[]): ReadonlyMap<string, readonly PlainRow[]> {
    const { rule } = this.options
    const states = new Map<string, PlainRow[]>()
    for (const { itemKey, isFirst, floats } of deltas) {
      const known = states.get(itemKey) ?? [rule.items.first(itemKey)]
      states.set(itemKey, known)
      if (isFirst) known.push(rule.fold(known.at(-1)!, itemKey, floats))
    }
    return states
  }

  /** Rows that are not those that were published and learned. */
  private wrongRows(items: ReadonlyMap<string, readonly PlainRow[]>, served: Rows): string[] {
    const { rule, publication } = this.options
    const wanted = new Map(publication.rows)
    for (const [key, rows] of this.learned.users) wanted.set(key, rows[0]!.row)
    for (const [key, states] of items) wanted.set(key, states.at(-1)!.row)
    const learnedRows = new Set([...this.learned.users.keys(), ...items.keys()])
    const problems: string[] = []
    for (const key of new Set([...wanted.keys(), ...served.keys()])) {
      if (key.startsWith('MEAN-')) continue
      const [own, row] = [wanted.get(key), served.get(key)]
      if (own === undefined || row === undefined) {
        problems.push(`row ${key} is ${row === undefined ? 'missing' : 'of no rating'}`)
        continue
      }
      const off = difference([...own], [...row])
      if (!(off <= (learnedRows.has(key) ? ROUNDING : 0)))
        problems.push(`row ${key} is off by ${off}`)
    }
    for (const side of [rule.users, rule.items]) {
      const row = served.get(`MEAN-${side.side}`)
      if (row === undefined) problems.push(`there is no mean row of ${side.side}`)
    }
    return problems
  }
}

/** A slot's part of the reported error. */
interface FrozenPart {
  readonly slot: number
  readonly parallelism: number
  readonly frozenMse: number
  readonly frozenRatings: number
}

/** The largest difference of two lists of floats, of which the second may be longer, beside the largest float. */
function difference(own: readonly number[], given: readonly number[]): number {
  const size = Math.max(LEAST, ...own.map(Math.abs))
  return Math.max(...own.map((x, n) => Math.abs(Math.fround(x) - (given[n] ?? Number.NaN)))) / size
}

/** The first rows that are not like one before them. */
function different(rows: readonly PlainRow[]): readonly PlainRow[] {
  const found: PlainRow[] = []
  for (const one of rows) {
    const isNew = found.every((other) => difference([...one.row], [...other.row]) > LIKE)
    if (isNew) found.push(one)
    if (found.length === MOST_ROWS) break
  }
  return found
}

function placeOf({ partition, offset }: Pick<TopicEntry, 'partition' | 'offset'>): string {
  return `${partition}/${offset}`
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function faded(losses: readonly number[]): number {
  let [sum, weight] = [0, 0]
  for (const loss of losses) {
    sum = loss + FADING * sum
    weight = 1 + FADING * weight
  }
  return sum / weight
}
