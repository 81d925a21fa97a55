import { requireArgument, WeirError } from '../../core/errors.ts'

/**
 * Labelled sparse examples, compressed by row, in shared memory: 8 bytes a non-zero, 8 a row. The
 * non-zeros of row r are those from offsets[r] to offsets[r + 1].
 */
export interface SparseTable {
  readonly rows: number
  /** One more than the largest feature id. */
  readonly features: number
  /** Offsets of the rows, `[rows + 1]`. */
  readonly offsets: Uint32Array
  /** Feature ids, ascending within a row, and the values. */
  readonly indexes: Uint32Array
  readonly values: Float32Array
  /** Labels in the file. */
  readonly labels: Float32Array
  /** How many examples each row counts for in a training, above 0. @default 1 each */
  readonly importance?: Float32Array | undefined
}

/** Elements of one block of a growing column. */
const BLOCK = 1 << 20
/** Offsets are 32 bits wide. */
const MAX_NON_ZEROS = 2 ** 32 - 1

type Column = Uint32Array | Float32Array

/** A column that grows in blocks, so that values are copied only once, at the end. */
class GrowingColumn<T extends Column> {
  private readonly make: (buffer: ArrayBufferLike) => T
  private readonly full: T[] = []
  private block: T
  private used = 0

  constructor(make: (buffer: ArrayBufferLike) => T) {
    this.make = make
    this.block = make(new ArrayBuffer(BLOCK * 4))
  }

  get length(): number {
    return this.full.length * BLOCK + this.used
  }

  push(value: number): void {
    if (this.used === BLOCK) {
      this.full.push(this.block)
      this.block = this.make(new ArrayBuffer(BLOCK * 4))
      this.used = 0
    }
    this.block[this.used++] = value
  }

  /** All values in one shared array; the column is empty afterwards. */
  take(): T {
    const whole = this.make(new SharedArrayBuffer(this.length * 4))
    whole.set(this.block.subarray(0, this.used), this.full.length * BLOCK)
    this.used = 0
    for (let block = this.full.pop(); block !== undefined; block = this.full.pop()) {
      whole.set(block, this.full.length * BLOCK)
    }
    return whole
  }
}

/** Collects examples into a table. */
export class SparseTableBuilder {
  private readonly offsets = new GrowingColumn((buffer) => new Uint32Array(buffer))
  private readonly indexes = new GrowingColumn((buffer) => new Uint32Array(buffer))
  private readonly values = new GrowingColumn((buffer) => new Float32Array(buffer))
  private readonly labels = new GrowingColumn((buffer) => new Float32Array(buffer))
  private readonly importance = new GrowingColumn((buffer) => new Float32Array(buffer))
  private features = 0
  private isWeighted = false

  constructor() {
    this.offsets.push(0)
  }

  /**
   * Appends an example of `count` non-zeros, in strictly ascending order of id. `importance`: how many examples it counts for,
   * above 0. Throws NOT_FINITE, and INVALID_ARGUMENT.
   */
  add(
    label: number,
    indexes: ArrayLike<number>,
    values: ArrayLike<number>,
    count = indexes.length,
    importance = 1,
  ): void {
    requireArgument(
      importance > 0 && importance < Number.POSITIVE_INFINITY,
      `the importance of an example is above 0, not ${importance}`,
    )
    for (let k = 0; k < count; k++) {
      const value = values[k] as number
      if (!Number.isFinite(value)) {
        throw new WeirError('NOT_FINITE', `feature ${indexes[k]} of an example is ${value}`)
      }
      this.indexes.push(indexes[k] as number)
      this.values.push(value)
    }
    if (count > 0) this.features = Math.max(this.features, (indexes[count - 1] as number) + 1)
    requireArgument(
      this.indexes.length <= MAX_NON_ZEROS,
      'a table holds at most 2^32 - 1 non-zeros; train on a sample',
    )
    this.labels.push(label)
    this.importance.push(importance)
    this.isWeighted ||= importance !== 1
    this.offsets.push(this.indexes.length)
  }

  /** The table; the builder is empty afterwards. */
  build(): SparseTable {
    const importance = this.importance.take()
    return {
      rows: this.labels.length,
      features: this.features,
      offsets: this.offsets.take(),
      indexes: this.indexes.take(),
      values: this.values.take(),
      labels: this.labels.take(),
      ...(this.isWeighted ? { importance } : {}),
    }
  }
}
