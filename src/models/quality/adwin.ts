import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { count, numberIn } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { alternation } from './alternation.ts'
import type { DriftDetector } from './drift-detector.ts'

/** Options of `Adwin`. */
export interface AdwinOptions {
  /** Probability of a false alarm in one check, 0 < delta < 1. @default 0.002 */
  readonly delta?: number
  /** Largest error that is expected; errors are divided by it and clipped to [0, 1]. @default 1 */
  readonly scale?: number
  /** Errors between two checks. @default 32 */
  readonly clock?: number
}

const ADWIN: OptionShape<AdwinOptions> = {
  delta: numberIn({ above: 0, below: 1 }),
  scale: numberIn({ above: 0 }),
  clock: count,
}

/** Maximum buckets of one size; above it the two oldest become one of twice the size (M in the paper). */
const MAX_BUCKETS = 5
/** Room of a row: a join puts two rows into one, and the row before merges up to as many again into it. */
const ROOM = 4 * MAX_BUCKETS
/** Minimum errors on each side of a cut. */
const MIN_SIDE = 5

/** Sums of 2^row errors each, oldest first: the first `size` elements. */
interface Row {
  readonly sums: Float64Array
  /** Sum of squared deviations within each bucket. */
  readonly deviations: Float64Array
  size: number
}

function emptyRow(): Row {
  return { sums: new Float64Array(ROOM), deviations: new Float64Array(ROOM), size: 0 }
}

/** Sum of squared deviations within two buckets of `size` errors each, as one. */
function deviationOfPair({ sums, deviations }: Row, size: number): number {
  const difference = ((sums[0] as number) - (sums[1] as number)) / size
  const inside = (deviations[0] as number) + (deviations[1] as number)
  return inside + (difference * difference * size) / 2
}

function append(row: Row, sum: number, deviation: number): void {
  row.sums[row.size] = sum
  row.deviations[row.size] = deviation
  row.size++
}

/** Removes the `count` oldest buckets. A loop over at most six takes a third of the time of `copyWithin`. */
function removeOldest(row: Row, count: number): void {
  const { sums, deviations } = row
  row.size -= count
  for (let i = 0; i < row.size; i++) {
    sums[i] = sums[i + count] as number
    deviations[i] = deviations[i + count] as number
  }
}

function writeRow({ sums, deviations, size }: Row, writer: ByteWriter): void {
  writer.uint8(size)
  for (let i = 0; i < size; i++) {
    writer.float64(sums[i] as number)
    writer.float64(deviations[i] as number)
  }
}

function readRow(reader: ByteReader): Row {
  const size = reader.uint8()
  const row = emptyRow()
  for (let i = 0; i < size; i++) append(row, reader.float64(), reader.float64())
  return row
}

/** The buckets of two rows. */
function joinedRow(a: Row, b: Row): Row {
  const row = emptyRow()
  let [i, j] = [0, 0]
  for (const isOfA of alternation(a.size, b.size)) {
    const from = isOfA ? a : b
    const at = isOfA ? i++ : j++
    append(row, from.sums[at] as number, from.deviations[at] as number)
  }
  return row
}

/**
 * ADWIN2 of Bifet and Gavalda, "Learning from time-changing data with adaptive windowing" (SDM 2007):
 * a window of errors that grows while their mean is constant, and drops its old part when the mean
 * changes. Its section 3 gives the test: two parts of the window with n0 and n1 errors differ when
 *
 *   |mean0 - mean1| > sqrt(2 / m * variance * ln(2 / d)) + 2 / (3 m) * ln(2 / d)
 *   1 / m = 1 / n0 + 1 / n1,  d = delta / ln(n)
 *
 * and the exponential histogram of ADWIN2: O(log n) buckets, so only cuts between buckets are tried.
 *
 * In a checkpoint, with the errors divided by the scale:
 *
 *   | alarms u32 | errors since the last check u32 | sum f64 | squared deviations f64 | rows u8
 *   | by row: buckets u8, sum f64 and squared deviations f64 of each bucket, oldest first |
 */
export class Adwin implements DriftDetector {
  alarms = 0
  private readonly delta: number
  private readonly scale: number
  private readonly clock: number
  private readonly rows: Row[] = [emptyRow()]
  private count = 0
  private sum = 0
  private deviation = 0
  private sinceLook = 0

  /** Throws INVALID_ARGUMENT. */
  constructor(options: AdwinOptions = {}) {
    checkOptions('new Adwin', ADWIN, options)
    this.delta = options.delta ?? 0.002
    this.scale = options.scale ?? 1
    this.clock = options.clock ?? 32
  }

  /** Errors in the window: those since the last change. */
  get width(): number {
    return this.count
  }

  /** Mean error of the window, in the unit of the errors. */
  get mean(): number {
    return this.count === 0 ? Number.NaN : (this.sum / this.count) * this.scale
  }

  add(error: number): boolean {
    this.insert(Math.min(1, Math.max(0, error / this.scale)))
    if (++this.sinceLook < this.clock) return false
    this.sinceLook = 0
    const before = this.mean
    let isCut = false
    while (this.count > 2 * MIN_SIDE && this.hasCut()) {
      this.dropOldest()
      isCut = true
    }
    // A fall of the error is a change too, but it shortens the window without an alarm.
    const isRise = isCut && this.mean > before
    if (isRise) this.alarms++
    return isRise
  }

  write(writer: ByteWriter): void {
    writer.uint32(this.alarms)
    writer.uint32(this.sinceLook)
    writer.float64(this.sum)
    writer.float64(this.deviation)
    writer.uint8(this.rows.length)
    for (const row of this.rows) writeRow(row, writer)
  }

  /** Joins the windows: in each row the buckets of both alternate by age. */
  join(reader: ByteReader): void {
    this.alarms += reader.uint32()
    const sinceLook = reader.uint32()
    if (this.count === 0) this.sinceLook = sinceLook
    const sum = reader.float64()
    const deviation = reader.float64()
    const rows = Array.from({ length: reader.uint8() }, () => readRow(reader))
    const count = rows.reduce((all, { size }, i) => all + size * 2 ** i, 0)
    if (count === 0) return
    const difference = sum / count - (this.count === 0 ? 0 : this.sum / this.count)
    const between = (difference * difference * this.count * count) / (this.count + count)
    this.deviation += deviation + between
    this.count += count
    this.sum += sum
    for (const [i, row] of rows.entries()) this.rows[i] = joinedRow(this.rows[i] ?? emptyRow(), row)
    for (let i = 0; i < this.rows.length; i++) {
      while ((this.rows[i] as Row).size > MAX_BUCKETS) this.mergeOldest(i, 2 ** i)
    }
  }

  private insert(value: number): void {
    if (this.count > 0) {
      const difference = value - this.sum / this.count
      this.deviation += (difference * difference * this.count) / (this.count + 1)
    }
    this.count++
    this.sum += value
    append(this.rows[0] as Row, value, 0)
    this.compress()
  }

  private compress(): void {
    let size = 1
    for (let i = 0; i < this.rows.length; i++, size *= 2) {
      const row = this.rows[i] as Row
      if (row.size <= MAX_BUCKETS) return
      this.mergeOldest(i, size)
    }
  }

  /** Makes the two oldest buckets of a row, of `size` errors each, one of the next row. */
  private mergeOldest(at: number, size: number): void {
    const row = this.rows[at] as Row
    const sum = (row.sums[0] as number) + (row.sums[1] as number)
    const deviation = deviationOfPair(row, size)
    removeOldest(row, 2)
    this.rows[at + 1] ??= emptyRow()
    append(this.rows[at + 1] as Row, sum, deviation)
  }

  /**
   * Whether some cut divides the window into parts of different means. Both sides of the test are
   * multiplied by n0 n1: a window of a million errors has eighty cuts, and a root and four divisions for
   * each took longer than all else of this class.
   */
  private hasCut(): boolean {
    const { rows, count, sum } = this
    const confidence = Math.log((2 * Math.log(count)) / this.delta)
    const spread = 2 * this.deviation * confidence
    const slack = (2 / 3) * count * confidence
    let n0 = 0
    let sum0 = 0
    let size = 2 ** (rows.length - 1)
    for (let i = rows.length - 1; i >= 0; i--, size /= 2) {
      const row = rows[i] as Row
      for (let bucket = 0; bucket < row.size; bucket++) {
        n0 += size
        sum0 += row.sums[bucket] as number
        const n1 = count - n0
        if (n1 < MIN_SIDE) return false
        if (n0 < MIN_SIDE) continue
        const distance = Math.abs(sum0 * count - sum * n0) - slack
        if (distance > 0 && distance * distance > spread * n0 * n1) return true
      }
    }
    return false
  }

  private dropOldest(): void {
    const last = this.rows.length - 1
    const row = this.rows[last] as Row
    const size = 2 ** last
    const sum = row.sums[0] as number
    const inside = row.deviations[0] as number
    removeOldest(row, 1)
    const rest = this.count - size
    const difference = sum / size - (this.sum - sum) / rest
    this.deviation -= inside + (difference * difference * size * rest) / this.count
    this.deviation = Math.max(0, this.deviation)
    this.count = rest
    this.sum -= sum
    if (row.size === 0 && last > 0) this.rows.pop()
  }
}
