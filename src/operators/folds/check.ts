import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import { areAlike, scaleOf } from './agreement.ts'
import { copyValue } from './copy-value.ts'
import type { DeclaredFold, Fold } from './fold.ts'

/** Fewest records of a window that say something: with two, a reduction in parts is the one in turn. */
const FEWEST = 3
/** Records of the first look at a fold; each further one takes twice as many, up to the most. */
const FIRST_RECORDS = 8
const MOST_RECORDS = 64
/** Looks that follow each other at once. */
const FIRST_LOOKS = 8
/** Fewest records between two later looks, and between a look and the next one for each record that it has seen. */
const PAUSE = 8192
const PAUSE_SHARE = 7
/** Records after which a look ends whose window has no end that is known. */
const LONGEST_LOOK = 65_536
/** The records of one key and window that a check looks at. */
interface Look<IN> {
  readonly key: unknown
  readonly from: number
  readonly to: number
  readonly records: IN[]
}

/**
 * A check, for as long as a job runs, of a fold that its user declared to be associative. From time to time it takes the
 * records of one key and window, folds them in turn and in parts, and compares the results.
 */
export class FoldCheck<IN, ACC> {
  private readonly fold: Fold<IN, ACC>
  private readonly records: Serializer<IN>
  private readonly anyOrder: boolean
  private look: Look<IN> | undefined
  private size = FIRST_RECORDS
  private looks = 0
  /** Records until the next look. */
  private pause = 0
  /** Records that the open look may still see. */
  private left = 0

  /** `anyOrder`: whether the parts are merged in another order than that of their records. */
  constructor(fold: Fold<IN, ACC>, records: Serializer<IN>, anyOrder: boolean) {
    this.fold = fold
    this.records = records
    this.anyOrder = anyOrder
  }

  /** Whether the fold has passed a look. */
  get hasPassed(): boolean {
    return this.looks > 0
  }

  /**
   * Sees a record; those of a key from `time` to before `time + spanMs` are in one window. Throws NOT_ASSOCIATIVE when
   * the fold gives another result in parts.
   */
  see(key: unknown, value: IN, time: number, spanMs: number): void {
    if (this.pause > 0) {
      this.pause -= 1
      return
    }
    const { look } = this
    if (look === undefined) {
      this.begin(key, value, time, spanMs)
      return
    }
    this.left -= 1
    if (time >= look.from && time < look.to && isSameKey(key, look.key)) {
      look.records.push(this.copy(value))
    }
    if (look.records.length >= this.size || this.left === 0) this.end(look)
  }

  /** Ends the look at a window that ends at this time or before. Throws as `see`. */
  close(time: number): void {
    const { look } = this
    if (look !== undefined && look.to <= time) this.end(look)
  }

  private begin(key: unknown, value: IN, time: number, spanMs: number): void {
    const kept = key instanceof Uint8Array ? key.slice() : key
    this.look = { key: kept, from: time, to: time + spanMs, records: [this.copy(value)] }
    this.left = LONGEST_LOOK
  }

  private end({ records }: Look<IN>): void {
    this.look = undefined
    const seen = LONGEST_LOOK - this.left
    if (records.length >= FEWEST) {
      this.compare(records)
      this.looks += 1
      this.size = Math.min(2 * this.size, MOST_RECORDS)
      if (this.looks >= FIRST_LOOKS) this.pause = Math.max(PAUSE, PAUSE_SHARE * seen)
    } else if (this.hasPassed) this.pause = PAUSE_SHARE * seen
  }

  private compare(records: readonly IN[]): void {
    const inTurn = this.foldOf(records)
    const parts = halvesOf(records)
    this.require(records, inTurn, parts, 'they are folded in two parts')
    if (!this.anyOrder) return
    const how = 'their two parts change places, as those of sliding windows and sessions may'
    this.require(records, inTurn, parts.toReversed(), how)
  }

  private require(
    records: readonly IN[],
    inTurn: ACC,
    parts: readonly (readonly IN[])[],
    how: string,
  ): void {
    const { fold } = this
    const merged = this.mergedOf(parts, records.length)
    const scale = Math.max(scaleOf(records), scaleOf(inTurn))
    if (areAlike(inTurn, merged, scale)) return
    if (areAlike(fold.result(inTurn), fold.result(merged), scale)) return
    throw notAssociative(
      fold.declared,
      `gives another result for ${records.length} records of one key when ${how}`,
    )
  }

  /** The parts folded and merged. A function that throws once, for a reason that passes, says nothing about them. */
  private mergedOf(parts: readonly (readonly IN[])[], count: number): ACC {
    const { fold } = this
    const merge = (): ACC => {
      const [first, ...others] = parts.map((part) => this.foldOf(part))
      return others.reduce((sum: ACC, other) => fold.merge(sum, other), first as ACC)
    }
    try {
      return merge()
    } catch {
      try {
        return merge()
      } catch (cause) {
        throw notAssociative(fold.declared, `throws for parts of ${count} records`, cause)
      }
    }
  }

  /** Folds copies: the function may change or keep what it gets. */
  private foldOf(records: readonly IN[]): ACC {
    let sum: ACC | undefined
    for (const record of records) sum = this.fold.add(this.copy(record), sum)
    return sum as ACC
  }

  private copy(value: IN): IN {
    return copyValue(this.records, value)
  }
}

const REMEDIES: Readonly<Record<DeclaredFold, readonly [what: string, remedy: string]>> = {
  reduce: ['the function of reduce was declared associative, but', 'leave out associative: true'],
  merge: [
    'merge of the aggregate',
    'write it so that parts give what add gives, or say { associative: false } in the options of aggregate',
  ],
}

function notAssociative(declared: DeclaredFold = 'reduce', problem: string, cause?: unknown) {
  const [what, remedy] = REMEDIES[declared]
  return new WeirError('NOT_ASSOCIATIVE', `${what} ${problem}: ${remedy}`, { cause })
}

function halvesOf<T>(values: readonly T[]): readonly (readonly T[])[] {
  const middle = Math.floor(values.length / 2)
  return [values.slice(0, middle), values.slice(middle)]
}

function isSameKey(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object') return false
  return areAlike(a, b)
}
