import type { ByteSpan } from '../../../core/byte-span.ts'
import type { LearnedRow } from '../../../models/als/online/rule.ts'
import { RowCopies } from '../../../models/als/row-copies.ts'

/** One user of this number is in the sample. */
const SAMPLED = 8
/** Maximum number of copies; later rows are not in the sample. */
const MAX_ROWS = 20_000
/** Updates of a row that was published and not learned since: its publication. */
const PUBLISHED = 1

/**
 * Copies of a version's rows as they were published, for the predictions of the version without
 * learning. A row is copied at its first rating in this slot, for a sample of the users, so that the
 * memory is bounded and most ratings cost nothing. An item's row that another slot has changed by then
 * is not copied.
 */
export class FrozenRows {
  private readonly copies = new RowCopies(MAX_ROWS)

  /** Whether predictions for a user are in the sample. */
  has(user: Uint8Array): boolean {
    let sum = 0
    for (let i = 0; i < user.length; i++) sum = (sum * 31 + user[i]!) | 0
    return ((sum ^ (sum >>> 15)) & (SAMPLED - 1)) === 0
  }

  /** Score of the published rows; undefined where one of them is not known any more. */
  score(
    userKey: Uint8Array,
    user: LearnedRow,
    itemKey: ByteSpan,
    item: LearnedRow,
  ): number | undefined {
    const userCopy = this.published(userKey, 0, userKey.length, user)
    const itemCopy = this.published(itemKey.bytes, itemKey.start, itemKey.length, item)
    return userCopy < 0 || itemCopy < 0 ? undefined : this.copies.score(userCopy, itemCopy)
  }

  /** Number of the copy of a row, which may be made now; -1 where there is none. */
  private published(
    key: Uint8Array,
    start: number,
    length: number,
    { row, updates }: LearnedRow,
  ): number {
    const known = this.copies.find(key, start, length)
    if (known >= 0 || updates > PUBLISHED) return known
    return this.copies.add(key, start, length, row)
  }
}
