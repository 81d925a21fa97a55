import { setImmediate } from 'node:timers/promises'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { aFunction, name, numberIn, required } from '../../core/options/kinds.ts'
import { SIGNAL } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { IdNumbers } from '../data/id-numbers.ts'
import { NamelessFile } from './nameless-file.ts'
import { RatingRecords } from './records.ts'
import { RatingSums, sortSide } from './sorted-side.ts'
import type { SpilledRatings } from './spilled-ratings.ts'

/** Options of `RatingsSpill`. */
export interface RatingsSpillOptions {
  /** Folder of the files, on a disk with room for 40 bytes a rating. */
  readonly folder: string
  /** Memory for sorting, in bytes; ids, counts and factors need more. @default 256 MiB */
  readonly memoryBytes?: number
  /** Gets the share of the sorting that is done, 0 to 1. */
  readonly onSorted?: (share: number) => void
  /** Stops the sorting with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** Ratings that are collected before they are written. */
const BUFFER_RATINGS = 1 << 16
/** Bytes for each rating of a part while it is sorted: the record, its place, the sorted columns. */
const SORT_BYTES = 24
/** Largest number of ratings, whose offsets have 32 bits. */
const MAX_RATINGS = 2 ** 32 - 1
const MIB = 2 ** 20

const SPILL: OptionShape<RatingsSpillOptions> = {
  folder: required(name),
  memoryBytes: numberIn({ min: MIB }),
  onSorted: aFunction(),
  signal: SIGNAL,
}

/**
 * Collects ratings in files, for training sets that are larger than memory. Ids are numbered as in
 * `RatingsTableBuilder`, so that training gives the same rows. What stays in memory does not grow with the
 * ratings, but with users and items. Calls block the thread while they write.
 */
export class RatingsSpill implements Disposable {
  private readonly options: RatingsSpillOptions
  private readonly records: NamelessFile
  private readonly buffer = new RatingRecords(BUFFER_RATINGS)
  private readonly users = new IdNumbers()
  private readonly items = new IdNumbers()
  private userCounts = new Uint32Array(1024)
  private itemCounts = new Uint32Array(1024)
  private used = 0
  private written = 0
  private readonly statistics = new RatingSums()

  /** Throws INVALID_ARGUMENT, and errors of the file system. */
  constructor(options: RatingsSpillOptions) {
    checkOptions('new RatingsSpill', SPILL, options)
    this.options = options
    this.records = new NamelessFile(options.folder)
  }

  /** Number of ratings. */
  get size(): number {
    return this.written + this.used
  }

  /** Appends a rating. Throws NOT_FINITE if it is not a number, and errors of the file system. */
  add(user: string, item: string, rating: number): void {
    if (!Number.isFinite(rating)) {
      throw new WeirError('NOT_FINITE', `user ${user} rated item ${item} with ${rating}`)
    }
    const [userNumber, itemNumber] = [this.users.of(user), this.items.of(item)]
    this.userCounts = counted(this.userCounts, userNumber)
    this.itemCounts = counted(this.itemCounts, itemNumber)
    this.buffer.set(this.used++, userNumber, itemNumber, rating)
    // As it is stored: 32 bits.
    this.statistics.add(this.buffer.rating(this.used - 1))
    if (this.used === BUFFER_RATINGS) this.flush()
  }

  /**
   * Sorts the ratings by both sides; nothing may be added afterwards. `sumsPairs`: the ratings of a user and an item become
   * one, their sum, as implicit feedback and events need it. Throws EMPTY_DATASET.
   */
  async build(sumsPairs = false): Promise<SpilledRatings> {
    this.flush()
    if (this.written === 0) {
      throw new WeirError('EMPTY_DATASET', 'there are no ratings; check the file and its format')
    }
    const users = await this.sorted('users', sumsPairs)
    const items = await this.sorted('items', sumsPairs).catch((error: unknown) => {
      users[Symbol.dispose]()
      throw error
    })
    this.records.clear()
    const { sum, min, max } = sumsPairs ? users.statistics : this.statistics
    const size = users.offsets.at(-1) ?? 0
    return {
      users: this.users.ids,
      items: this.items.ids,
      size,
      statistics: { mean: sum / size, min, max },
      sides: { users, items },
      [Symbol.dispose]() {
        users[Symbol.dispose]()
        items[Symbol.dispose]()
      },
    }
  }

  [Symbol.dispose](): void {
    this.records[Symbol.dispose]()
  }

  private sorted(side: 'users' | 'items', sumsPairs: boolean): ReturnType<typeof sortSide> {
    const { records, options } = this
    const { folder, memoryBytes = 256 * MIB, onSorted, signal } = options
    const isUsers = side === 'users'
    const [rows, others] = isUsers ? [this.users, this.items] : [this.items, this.users]
    return sortSide({
      records,
      column: isUsers ? 0 : 1,
      counts: (isUsers ? this.userCounts : this.itemCounts).subarray(0, rows.ids.length),
      others: others.ids.length,
      sumsPairs,
      partRatings: Math.floor(memoryBytes / SORT_BYTES),
      folder,
      async breathe(done) {
        onSorted?.((isUsers ? 0 : 0.5) + done / 2)
        await setImmediate()
        signal?.throwIfAborted()
      },
    })
  }

  private flush(): void {
    requireArgument(this.size <= MAX_RATINGS, 'at most 2^32 ratings train; train on a sample')
    this.records.append(this.buffer.bytes(0, this.used))
    this.written += this.used
    this.used = 0
  }
}

/** The counts with one more of a number, in a longer array where it is needed. */
function counted(counts: Uint32Array<ArrayBuffer>, number: number): Uint32Array<ArrayBuffer> {
  let longer = counts
  if (number >= counts.length) {
    longer = new Uint32Array(counts.length * 2)
    longer.set(counts)
  }
  longer[number] = (longer[number] as number) + 1
  return longer
}
