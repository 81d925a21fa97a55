import { ElementArena } from '../values/element-arena.ts'

/** Elements that are added between two looks at how many were read. */
const PERIOD = 1024
/** States that get fewer elements stay decoded. */
const FEWEST = 65_536
/** All elements grow by this factor, while hardly one is read, before new ones are packed. */
const GROWTH = 4
/** So many elements for each that is read or dropped are hardly read. */
const FEW = 8
/** Elements for which reads are remembered. */
const MEMORY = 65_536

/**
 * Watches whether the elements of a list state are read. Where hardly one is, new ones are packed at once: an object that
 * nobody reads is copied twice by the engine, and then looked at again and again. Reads are noticed soon, their
 * absence late: a window that is open for long has no reads either, and reading packed elements is slow.
 */
export class UnreadElements {
  private readonly arena = new ElementArena()
  /** The arena while elements are packed. */
  private inUse: ElementArena | undefined
  private all = 0
  /** Elements since the count began: those that were added, and those that were read or dropped. */
  private added = 0
  private taken = 0
  private untilLook = PERIOD
  private growsUntil = FEWEST

  /** Counts an element that is added. Returns where it is to be packed; undefined if it stays decoded. */
  arenaForNext(): ElementArena | undefined {
    this.untilLook -= 1
    if (this.untilLook === 0) this.look()
    return this.inUse
  }

  /** Counts elements that were read, or dropped: these leave holes in the arena. */
  take(elements: number): void {
    this.taken += elements
  }

  private look(): void {
    this.untilLook = PERIOD
    this.all += PERIOD
    this.added += PERIOD
    const isUnread = this.taken * FEW < this.added
    if (this.inUse === undefined) {
      if (this.all >= this.growsUntil) this.begin(isUnread)
    } else if (!isUnread || this.arena.isFull) this.begin(false)
    else if (this.added >= MEMORY) this.forgetHalf()
  }

  private begin(isUnread: boolean): void {
    this.inUse = isUnread && !this.arena.isFull ? this.arena : undefined
    this.added = 0
    this.taken = 0
    this.growsUntil = this.all * GROWTH
  }

  private forgetHalf(): void {
    this.added /= 2
    this.taken /= 2
  }
}
