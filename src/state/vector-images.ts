import type { RowTable } from './row-table.ts'
import {
  KIND_IMAGES,
  META_IMAGE,
  META_LISTED,
  META_THROUGH,
  META_WRITE_EPOCH,
  ROW_KEY,
  ROW_STATE,
  STATE_DELETED,
  STATE_IMAGE,
  STATE_KEY_LENGTH,
} from './row-table-layout.ts'
import type { VectorEpochs } from './vector-epochs.ts'

/** Row numbers in the order in which they came. */
export class RowQueue {
  private rows = new Int32Array(64)
  private head = 0
  private tail = 0

  get length(): number {
    return this.tail - this.head
  }

  push(row: number): void {
    if (this.tail === this.rows.length) this.makeRoom()
    this.rows[this.tail++] = row
  }

  /** The first one; undefined behaviour when empty. */
  peek(): number {
    return this.rows[this.head]!
  }

  shift(): number {
    return this.rows[this.head++]!
  }

  private makeRoom(): void {
    const live = this.rows.subarray(this.head, this.tail)
    const target =
      live.length * 2 > this.rows.length ? new Int32Array(this.rows.length * 2) : this.rows
    target.set(live)
    this.tail = live.length
    this.head = 0
    this.rows = target
  }
}

/**
 * Older images of rows: chains of image rows, newest first, that serve the `checkpoint` consistency
 * level. The first write to a row after a barrier saves what it overwrites. An image is valid for the
 * checkpoints c with write epoch < c <= `through`; those that no retained checkpoint needs are freed a
 * few with every write, and a row's newest image makes room for its next one if it is not needed, so
 * that a row has at most as many images as checkpoints are retained, plus one.
 */
export class VectorImages {
  private readonly rows: RowTable
  private readonly epochs: VectorEpochs
  private readonly take: (kind: typeof KIND_IMAGES) => number
  private readonly saved = new RowQueue()

  /** `take` gives a row for an image; it may evict rows. */
  constructor(rows: RowTable, epochs: VectorEpochs, take: (kind: typeof KIND_IMAGES) => number) {
    this.rows = rows
    this.epochs = epochs
    this.take = take
  }

  /** Copies a row into a new image; the number to link the row to, between begin and end of its write. */
  save(row: number): number {
    const next = this.withoutUselessHead(row)
    const image = this.take(KIND_IMAGES)
    const { arena, layout } = this.rows
    const from = this.rows.headerOf(row)
    const to = this.rows.headerOf(image)
    this.rows.beginWrite(image)
    // A loop: `copyWithin` takes several times as long in shared memory.
    const { words, floats } = arena
    for (let i = ROW_STATE; i < layout.headerWords; i++) words[to + i] = words[from + i]!
    const state = words[from + ROW_STATE]!
    words[to + ROW_STATE] = (state & (STATE_KEY_LENGTH | STATE_DELETED)) | STATE_IMAGE
    const meta = to + layout.metaAt
    words[meta + META_IMAGE] = next
    words[meta + META_THROUGH] = this.epochs.current
    words[meta + META_LISTED] = row + 1
    const source = this.rows.floatsOf(row)
    const target = this.rows.floatsOf(image)
    for (let i = 0; i < layout.stride; i++) floats[target + i] = floats[source + i]!
    this.rows.endWrite(image)
    this.saved.push(image)
    return image + 1
  }

  /** The chain of a row without a newest image that no checkpoint needs; a link (number + 1 or 0). */
  private withoutUselessHead(row: number): number {
    const words = this.rows.arena.words
    const at = this.rows.metaOf(row) + META_IMAGE
    const head = words[at]! - 1
    if (head < 0) return 0
    const meta = this.rows.metaOf(head)
    if (this.epochs.isReadable(words[meta + META_WRITE_EPOCH]!, words[meta + META_THROUGH]!)) {
      return head + 1
    }
    const next = words[meta + META_IMAGE]!
    words[at] = next
    this.rows.free(head)
    return next
  }

  /** Frees all images of a row that is about to be freed. */
  freeChain(row: number): void {
    const words = this.rows.arena.words
    let image = words[this.rows.metaOf(row) + META_IMAGE]! - 1
    while (image >= 0) {
      const next = words[this.rows.metaOf(image) + META_IMAGE]! - 1
      this.rows.free(image)
      image = next
    }
  }

  /** Frees up to `limit` images that no checkpoint needs any more; true when none is left. */
  sweep(limit: number): boolean {
    const completed = this.epochs.completed
    const words = this.rows.arena.words
    for (let n = 0; n < limit; n++) {
      if (this.saved.length === 0) return true
      const image = this.saved.peek()
      const isImage = (words[this.rows.headerOf(image) + ROW_STATE]! & STATE_IMAGE) !== 0
      const meta = this.rows.metaOf(image)
      if (isImage && words[meta + META_THROUGH]! >= completed) return true
      this.saved.shift()
      if (isImage) this.cutBefore(words[meta + META_LISTED]! - 1, completed)
    }
    return this.saved.length === 0
  }

  /** Cuts the tail of a row's chain whose images are all older than the completed checkpoint. */
  private cutBefore(owner: number, completed: number): void {
    const words = this.rows.arena.words
    let link = this.rows.metaOf(owner) + META_IMAGE
    for (;;) {
      const image = words[link]! - 1
      if (image < 0) return
      const meta = this.rows.metaOf(image)
      if (words[meta + META_THROUGH]! < completed) break
      link = meta + META_IMAGE
    }
    let image = words[link]! - 1
    words[link] = 0
    while (image >= 0) {
      const next = words[this.rows.metaOf(image) + META_IMAGE]! - 1
      this.rows.free(image)
      image = next
    }
  }

  /** Puts an image that was kept in the store behind the last of a row's chain. */
  adopt(row: number, image: number): void {
    const words = this.rows.arena.words
    let link = this.rows.metaOf(row) + META_IMAGE
    while (words[link] !== 0) link = this.rows.metaOf(words[link]! - 1) + META_IMAGE
    words[this.rows.metaOf(image) + META_LISTED] = row + 1
    words[link] = image + 1
    this.saved.push(image)
  }

  /** Copies the key words of a row to an image of it. */
  copyKey(row: number, image: number): void {
    const words = this.rows.arena.words
    const from = this.rows.headerOf(row)
    const to = this.rows.headerOf(image)
    words.copyWithin(to + ROW_KEY, from + ROW_KEY, from + this.rows.layout.metaAt)
  }
}
