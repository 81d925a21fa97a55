import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { SmallestStrings } from '../../core/text/smallest-strings.ts'
import { STATE_DELETED, STATE_LIVE } from './layout.ts'
import type { RowTable } from './row-table.ts'

/** Keys of the first window; each one that continues an earlier one is four times as large. */
const FIRST_KEYS = 1024
const MOST_KEYS = 32_768
/** Rows between two steps of a pass. */
const STEP_ROWS = 256
/** Entries of the store between two steps. */
const STEP_ENTRIES = 64
/** More new rows than this end a window. */
const MOST_ADDED = 1024
/** A window that no scan has used for so long is dropped, in ms. */
const KEPT_MS = 5_000

/** Rows of one version, in memory and in the store. */
export interface ScannedRows {
  readonly rows: RowTable
  /** Entries of the store from a key on, in key order; undefined without a store. */
  readonly stored:
    | ((from: Uint8Array) => Iterable<readonly [key: Uint8Array, value: Uint8Array]>)
    | undefined
}

/**
 * The smallest keys of a version from some key on, sorted: one pass over all rows serves the pages of a
 * scan that follow each other. Keys are in it whether they are in memory, spilled or deleted meanwhile;
 * `added` has those that came after the pass began.
 */
export interface KeyWindow {
  /** Keys in `from <= key < end`, as latin1 text, ascending. */
  readonly keys: readonly string[]
  readonly from: string
  /** Undefined when the window has all keys from `from` on. */
  readonly end: string | undefined
}

/** Finds keys of one version in their order, for scans. It costs nothing while nothing is scanned. */
export class KeyWindows {
  private window: (KeyWindow & { keys: readonly string[]; usedAtMs: number }) | undefined
  private added: string[] = []
  /** Passes that run now; new rows are recorded meanwhile. */
  private passes = 0
  private capacity = FIRST_KEYS

  /** Whether new rows have to be added: a window exists, or a pass runs. */
  isActive = false
  private readonly key: Uint8Array
  private readonly rows: RowTable

  constructor(rows: RowTable) {
    this.rows = rows
    this.key = new Uint8Array(rows.layout.maxKeyBytes)
  }

  /** Records a row that came into memory as a new one. */
  add(row: number): void {
    this.added.push(latin1Of(this.key, this.rows.keyInto(row, this.key)))
    if (this.passes === 0 && this.added.length > MOST_ADDED) this.drop()
  }

  /** Drops a window that was not used for some seconds. */
  expire(nowMs: number): void {
    if (this.passes === 0 && this.window !== undefined && nowMs - this.window.usedAtMs > KEPT_MS) {
      this.drop()
    }
  }

  private drop(): void {
    this.window = undefined
    this.isActive = false
    this.added = []
    this.capacity = FIRST_KEYS
  }

  /** Yields while it works; returns a window that contains `from`, with new keys merged into it. */
  *at(scanned: ScannedRows, from: string, nowMs: number): Generator<void, KeyWindow> {
    const { window } = this
    if (window === undefined || !contains(window, from)) {
      const follows = window?.end === from
      const capacity = follows ? Math.min(MOST_KEYS, this.capacity * 4) : FIRST_KEYS
      yield* this.pass(scanned, from, capacity, nowMs)
    }
    const current = this.window!
    current.usedAtMs = nowMs
    this.takeAdded(current)
    return current
  }

  private takeAdded(window: { keys: readonly string[] } & KeyWindow): void {
    const known = new Set<string>()
    for (const key of this.added) if (contains(window, key)) known.add(key)
    if (this.passes === 0) this.added = []
    if (known.size === 0) return
    for (const key of window.keys) known.add(key)
    window.keys = [...known].sort()
  }

  /** Reads memory first and the store after it: a row that moves meanwhile is found in one of them. */
  private *pass(
    { rows, stored }: ScannedRows,
    from: string,
    capacity: number,
    nowMs: number,
  ): Generator<void, void> {
    if (this.passes === 0) this.added = []
    this.passes += 1
    this.isActive = true
    try {
      const smallest = new SmallestStrings(capacity)
      yield* offerMemory(rows, this.key, bytesOfLatin1(from), smallest)
      if (stored !== undefined) yield* offerStore(stored, from, smallest)
      const { isCut } = smallest
      const sorted = yield* smallest.sorted()
      const keys = stored === undefined ? sorted : distinct(sorted)
      const end = isCut ? `${keys.at(-1)!}\0` : undefined
      this.window = { keys, from, end, usedAtMs: nowMs }
      this.capacity = capacity
    } finally {
      this.passes -= 1
      this.isActive = this.passes > 0 || this.window !== undefined
    }
  }
}

function contains({ from, end }: KeyWindow, key: string): boolean {
  return key >= from && (end === undefined || key < end)
}

function* offerMemory(
  rows: RowTable,
  buffer: Uint8Array,
  from: Uint8Array,
  smallest: SmallestStrings,
): Generator<void, void> {
  let limit: string | undefined
  let limitBytes: Uint8Array | undefined
  for (let row = 0; row < rows.rowLimit; row++) {
    if (row % STEP_ROWS === STEP_ROWS - 1) yield
    if ((rows.stateOf(row) & (STATE_LIVE | STATE_DELETED)) === 0 || rows.isImage(row)) continue
    const length = rows.keyInto(row, buffer)
    if (isBelow(buffer, length, from)) continue
    if (smallest.limit !== limit) {
      limit = smallest.limit
      limitBytes = bytesOfLatin1(limit!)
    }
    const fits = limitBytes === undefined || isBelow(buffer, length, limitBytes)
    smallest.offer(fits ? latin1Of(buffer, length) : limit!)
  }
}

function* offerStore(
  stored: NonNullable<ScannedRows['stored']>,
  from: string,
  smallest: SmallestStrings,
): Generator<void, void> {
  let next = from
  for (;;) {
    let entries = 0
    for (const [key] of stored(bytesOfLatin1(next))) {
      const text = latin1Of(key)
      const isAbove = smallest.limit !== undefined && text >= smallest.limit
      smallest.offer(text)
      if (isAbove) return
      next = `${text}\0`
      entries += 1
      if (entries === STEP_ENTRIES) break
    }
    if (entries < STEP_ENTRIES) return
    yield
  }
}

/** A key that memory and store have is offered twice. */
function distinct(sorted: readonly string[]): string[] {
  return sorted.filter((key, i) => i === 0 || key !== sorted[i - 1])
}

/** Whether a key is below another; keys are short, so a loop is faster than a call. */
function isBelow(key: Uint8Array, length: number, other: Uint8Array): boolean {
  const shared = Math.min(length, other.length)
  for (let i = 0; i < shared; i++) if (key[i] !== other[i]) return key[i]! < other[i]!
  return length < other.length
}
