import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type { EdgeFold, SendPart } from '../port/edge-fold.ts'
import { FoldedPart } from '../port/folded-part.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { type AlignedWindows, lastWindowStart } from '../windows/assigner.ts'
import type { Fold } from '../windows/contents.ts'
import { copyOfSum } from '../windows/slices.ts'
import { type CopyValue, foldsAgree } from './agreement.ts'

/** Groups of three records on which the fold is tried before it is trusted. */
const TRIALS = 8
/** Parts above which the fold sends all of them. */
const MOST_PARTS = 4096
/** Records after which it is decided whether folding them pays. */
const PERIOD = 8192
/** Parts for each record above which folding does not pay: almost each record has a key of its own. */
const WORTHLESS = 0.7
/** Records that are sent as they are before folding is tried again. */
const REST = 131_072

/** Options of a local fold. */
export interface LocalFoldOptions<IN, ACC> {
  readonly windows: AlignedWindows
  readonly fold: Fold<IN, ACC>
  readonly keySerializer: Serializer<unknown>
  readonly records: Serializer<IN>
  readonly sums: Serializer<ACC>
}

/** A part that waits to be sent, with its key. */
class WaitingPart<ACC> {
  readonly key: unknown
  readonly timestamp: number
  readonly part: FoldedPart<ACC>

  constructor(key: unknown, timestamp: number, part: FoldedPart<ACC>) {
    this.key = key
    this.timestamp = timestamp
    this.part = part
  }
}

/** The parts of one slice. */
class SliceParts<ACC> {
  /** By keys that a Map compares as their bytes compare. */
  readonly byKey = new Map<unknown, WaitingPart<ACC>>()
  /** By the bytes of other keys, one character a byte. */
  readonly byBytes = new Map<string, WaitingPart<ACC>>()
}

/** Whether a Map compares the key as its bytes compare: it takes -0 for 0. */
function isOwnName(key: unknown): boolean {
  return typeof key === 'string' || (typeof key === 'number' && !Object.is(key, -0))
}

/**
 * Folds the records of aligned windows before they cross an edge, by key and slice of time (the first phase of a
 * two-phase aggregation). The parts are sent at the next watermark, report of progress or barrier, and when the
 * channel is flushed, so that no record waits longer than without it.
 *
 * Records are sent as they are until some of them have shown that the fold gives the same in parts, and while almost
 * each has a key of its own.
 */
export class LocalFold<IN, ACC> implements EdgeFold {
  private readonly options: LocalFoldOptions<IN, ACC>
  private readonly isEventTime: boolean
  private waiting: WaitingPart<ACC>[] = []
  /** Parts by the start of their slice. */
  private readonly slices = new Map<number, SliceParts<ACC>>()
  private lastStart = Number.NaN
  private lastSlice = new SliceParts<ACC>()
  private readonly key = new ByteWriter(64)
  /** Records of the next trial; undefined when the trials are over. */
  private trial: IN[] | undefined = []
  private trials = 0
  /** Records that are still sent as they are. */
  private resting = 0
  private recordsOfPeriod = 0
  private partsOfPeriod = 0

  constructor(options: LocalFoldOptions<IN, ACC>) {
    this.options = options
    this.isEventTime = options.windows.timeDomain === 'event-time'
  }

  get size(): number {
    return this.waiting.length
  }

  add(key: unknown, value: unknown, timestamp: number): boolean {
    if (this.resting > 0 || this.trial !== undefined) return this.pass(value as IN)
    if (this.waiting.length >= MOST_PARTS || (this.isEventTime && timestamp === NO_TIMESTAMP)) {
      return false
    }
    this.recordsOfPeriod += 1
    const start = this.isEventTime ? lastWindowStart(this.options.windows, timestamp) : 0
    const slice = start === this.lastStart ? this.lastSlice : this.sliceOf(start)
    if (isOwnName(key)) this.addTo(slice.byKey, key, key, value as IN, start)
    else this.addTo(slice.byBytes, this.bytesOf(key), key, value as IN, start)
    return true
  }

  drain(send: SendPart): void {
    const parts = this.waiting
    this.waiting = []
    this.slices.clear()
    this.lastStart = Number.NaN
    this.partsOfPeriod += parts.length
    for (const { key, part, timestamp } of parts) send(key, part, timestamp)
    if (this.recordsOfPeriod >= PERIOD) this.endPeriod()
  }

  private endPeriod(): void {
    if (this.partsOfPeriod > WORTHLESS * this.recordsOfPeriod) this.resting = REST
    this.recordsOfPeriod = 0
    this.partsOfPeriod = 0
  }

  /** A record is sent as it is; it may be part of a trial. */
  private pass(value: IN): false {
    if (this.resting > 0) this.resting -= 1
    else this.try(value)
    return false
  }

  private try(value: IN): void {
    const records = this.trial!
    const copy = this.copyRecord(value)
    if (copy === undefined) {
      this.resting = Number.POSITIVE_INFINITY
      return
    }
    records.push(copy as IN)
    if (records.length < 3) return
    const [a, b, c] = records as [IN, IN, IN]
    if (!foldsAgree(this.options.fold, [a, b, c], this.copyRecord)) {
      this.resting = Number.POSITIVE_INFINITY
    }
    this.trials += 1
    this.trial = this.trials < TRIALS ? [] : undefined
  }

  private readonly copyRecord: CopyValue = (value) => copyOfSum(this.options.records, value)

  private sliceOf(start: number): SliceParts<ACC> {
    let slice = this.slices.get(start)
    if (slice === undefined) {
      slice = new SliceParts()
      this.slices.set(start, slice)
    }
    this.lastStart = start
    this.lastSlice = slice
    return slice
  }

  private bytesOf(key: unknown): string {
    this.key.length = 0
    this.options.keySerializer.write(key, this.key)
    return latin1Of(this.key.bytes, this.key.length)
  }

  private addTo<N>(
    parts: Map<N, WaitingPart<ACC>>,
    name: N,
    key: unknown,
    value: IN,
    start: number,
  ): void {
    const found = parts.get(name)
    if (found === undefined) parts.set(name, this.begin(key, value, start))
    else this.fold(found.part, value)
  }

  private begin(key: unknown, value: IN, start: number): WaitingPart<ACC> {
    const part = new FoldedPart(undefined as ACC, 0, true)
    this.fold(part, value)
    // -1 stands for no time; a slice of more than a moment has 0 in it, too.
    const waiting = new WaitingPart(key, start === NO_TIMESTAMP ? 0 : start, part)
    this.waiting.push(waiting)
    return waiting
  }

  private fold(part: FoldedPart<ACC>, value: IN): void {
    const before = part.records === 0 ? undefined : part.sum
    const after = this.options.fold.add(value, before)
    if (after instanceof Promise) refusePromise(after, 'the fold of a window')
    part.records += 1
    if (after === before || typeof after !== 'object') {
      part.sum = after
      return
    }
    // The fold may have returned the record, or a part of it, which belongs to the function that made it.
    const copy = copyOfSum(this.options.sums, after)
    part.sum = (copy ?? after) as ACC
    part.owned = copy !== undefined
  }
}
