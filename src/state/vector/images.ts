import {
  KIND_IMAGES,
  META_IMAGE,
  META_LISTED,
  META_THROUGH,
  META_WRITE_EPOCH,
  ROW_KEY,
  ROW_META,
  ROW_STATE,
  STATE_DELETED,
  STATE_IMAGE,
  STATE_KEY_LENGTH,
} from '../rows/layout.ts'
import { RowQueue } from '../rows/row-list.ts'
import type { RowTable } from '../rows/row-table.ts'
import type { VectorEpochs } from './epochs.ts'

/**
 * Older images of rows: chains of image rows, newest first, that serve the `checkpoint` consistency
 * level. The first write to a row after a barrier saves what it overwrites. An image is valid for
 * checkpoints c with write epoch < c <= `through`; those that no retained checkpoint needs are freed a
 * few with every write, and those of a row when it gets its next one, so that a row has at most as many
 * images as checkpoints are retained, plus one, however many checkpoints are aborted.
 */
export class VectorImages {
  private readonly rows: RowTable
  private readonly epochs: VectorEpochs
  private readonly take: (kind: typeof KIND_IMAGES) => number
  private readonly saved = new RowQueue()

  /** `take` returns a free row for an image; it may evict rows. */
  constructor(rows: RowTable, epochs: VectorEpochs, take: (kind: typeof KIND_IMAGES) => number) {
    this.rows = rows
    this.epochs = epochs
    this.take = take
  }

  /** Copies a row into a new image; the number to link the row to, between begin and end of its write. */
  save(row: number): number {
    const next = this.withoutUseless(row)
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
    const meta = to + ROW_META
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

  /** The chain of a row without images that no checkpoint needs; a link (number + 1 or 0). */
  private withoutUseless(row: number): number {
    const words = this.rows.arena.words
    const first = this.rows.metaOf(row) + META_IMAGE
    for (let link = first, image = words[link]! - 1; image >= 0; image = words[link]! - 1) {
      const meta = this.rows.metaOf(image)
      const next = meta + META_IMAGE
      if (this.epochs.isReadable(words[meta + META_WRITE_EPOCH]!, words[meta + META_THROUGH]!)) {
        link = next
      } else {
        words[link] = words[next]!
        this.rows.free(image)
      }
    }
    return words[first]!
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

  /** Appends an image that was in the store to a row's chain. */
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
    words.copyWithin(to + ROW_KEY, from + ROW_KEY, from + this.rows.layout.headerWords)
  }
}
