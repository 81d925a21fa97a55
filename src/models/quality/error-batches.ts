import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { Adwin } from './adwin.ts'
import type { DriftDetector } from './drift-detector.ts'
import { ErrorReference } from './error-reference.ts'
import { NewestValues } from './newest-values.ts'
import { PageHinkley } from './page-hinkley.ts'

/** Errors of a batch: about a session of a user, whose errors are alike. */
const BATCH = 32
/** Newest batches whose mean must have changed. */
const NEWEST = 16
/** The change of that mean that is no alarm, in parts of what is expected: where the curve of a day is known, and where not. */
const TOLERATED_OF_DAY = 0.25
const TOLERATED = 0.5
/** A larger ratio counts as this one: for the detectors, and for what is expected later. */
const MOST = 4
const MOST_KEPT = 2

/** Detectors of batches. */
const DETECTORS = {
  adwin: () => new Adwin({ scale: MOST, delta: 1e-5, clock: 1 }),
  'page-hinkley': () =>
    new PageHinkley({ delta: 0.5, threshold: 120, minErrors: 12, calmOnly: true }),
  better: () => new Adwin({ scale: MOST, delta: 1e-5, clock: 1 }),
} as const

/** Name of a detector of batches; `better` finds a fall. */
export type ChangeName = keyof typeof DETECTORS

const NOTHING: readonly ChangeName[] = []

/**
 * Finds a change in a stream of errors that come in sessions and change with the time of the day. Detectors expect errors that do
 * not depend on each other, so they get the mean error of a batch, in parts of the error that is expected then
 * (`ErrorReference`). Both must agree: the detector, and the mean of the newest batches, which separates a change from chance in an
 * error that depends on users. With an alarm a detector and its reference begin again, so that one change is one alarm.
 *
 * In a checkpoint: `| sum of the batch f64 | errors of it f64 | time f64 |`, then the detectors.
 */
export class ErrorBatches {
  private sum = 0
  private count = 0
  private timeMs = -1
  private readonly watches: ReadonlyMap<ChangeName, ChangeWatch>

  constructor(names: readonly ChangeName[]) {
    this.watches = new Map(names.map((name) => [name, new ChangeWatch(name)]))
  }

  /** Adds an error; the detectors that have found a change. `timeMs`: -1 where it has none. */
  add(error: number, timeMs: number): readonly ChangeName[] {
    // An error that is no number would stay in all sums.
    if (!Number.isFinite(error)) return NOTHING
    this.sum += error
    this.timeMs = Math.max(this.timeMs, timeMs)
    if (++this.count < BATCH) return NOTHING
    const mean = this.sum / this.count
    const found = [...this.watches].flatMap(([name, watch]) =>
      watch.add(mean, this.timeMs) ? [name] : [],
    )
    this.sum = 0
    this.count = 0
    this.timeMs = -1
    return found
  }

  /** Lets a detector begin again: the change was found elsewhere. */
  restart(name: ChangeName): void {
    this.watches.get(name)?.restart()
  }

  write(writer: ByteWriter): void {
    for (const number of [this.sum, this.count, this.timeMs]) writer.float64(number)
    for (const watch of this.watches.values()) watch.write(writer)
  }

  /** Adds the errors of another one of `write`. */
  join(reader: ByteReader): void {
    this.sum += reader.float64()
    this.count += reader.float64()
    this.timeMs = Math.max(this.timeMs, reader.float64())
    for (const watch of this.watches.values()) watch.join(reader)
  }
}

/** A detector of a change of the error in one direction, with its reference. */
class ChangeWatch {
  private readonly name: ChangeName
  private detector: DriftDetector
  private reference = new ErrorReference()
  private newest = new NewestValues(NEWEST)

  constructor(name: ChangeName) {
    this.name = name
    this.detector = DETECTORS[name]()
  }

  /** Adds the mean error of a batch; true when it reveals a change. */
  add(error: number, timeMs: number): boolean {
    const { reference } = this
    const expected = reference.expected(timeMs)
    // A change must not become what is expected before it is found, nor may one rating that a model diverges on.
    reference.add(Math.min(error, MOST_KEPT * (expected ?? error)), timeMs)
    if (expected === undefined) return false
    const isFall = this.name === 'better'
    const ratio = isFall ? ratioOf(expected, error) : ratioOf(error, expected)
    this.newest.add(ratio)
    const tolerated = reference.knowsDay ? TOLERATED_OF_DAY : TOLERATED
    if (!this.detector.add(ratio) || this.newest.mean < 1 + tolerated) return false
    this.restart()
    return true
  }

  restart(): void {
    this.detector = DETECTORS[this.name]()
    this.reference = new ErrorReference()
    this.newest = new NewestValues(NEWEST)
  }

  write(writer: ByteWriter): void {
    for (const part of [this.reference, this.newest, this.detector]) part.write(writer)
  }

  join(reader: ByteReader): void {
    const own = this.reference.count
    this.reference.join(reader)
    const share = this.reference.count === 0 ? 1 : own / this.reference.count
    this.newest.join(reader, share)
    this.detector.join(reader)
  }
}

function ratioOf(error: number, of: number): number {
  if (error === of) return 1
  return of > 0 ? Math.min(MOST, error / of) : MOST
}
