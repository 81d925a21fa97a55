import { bytesOfLatin1 } from '../../core/text/latin1.ts'
import { decodeComposite, prefixLengthOf } from '../port/composite-key.ts'

/** Windows of a table: scans beside each other that do not take each other's. */
const KEPT_WINDOWS = 4
/** A window that no scan has used for so long is dropped, in ms. */
const KEPT_MS = 5_000
/** More new keys than this end all windows. */
const MOST_ADDED = 4096
/** End of the key and of an empty namespace. */
const DEFAULT_NAMESPACE = '\x00\x01\x00\x01'

/** Range of composite prefixes as latin1 text, `from <= prefix < to`. */
export interface PrefixRange {
  readonly from: string
  readonly to: string
}

/**
 * The smallest keys of a range, as composite prefixes in the default namespace, sorted: one pass over all
 * entries serves the pages of a scan that follow each other. It has keys that were removed meanwhile, too.
 */
export interface KeyWindow extends PrefixRange {
  /** Ascending. */
  prefixes: readonly string[]
  /** The last key that it covers; undefined when it covers the range. */
  readonly last: string | undefined
  usedAtMs: number
}

/**
 * The windows of one table, and the keys that came since they were made. It costs a comparison for each
 * new entry while nothing is scanned.
 */
export class KeyWindows {
  private windows: KeyWindow[] = []
  /** Composite keys of entries that came into memory. */
  private added: string[] = []
  private passes = 0

  /** Records an entry that came into memory. */
  add(compositeKey: string): void {
    if (this.passes === 0 && this.windows.length === 0) return
    this.added.push(compositeKey)
    if (this.passes > 0 || this.added.length <= MOST_ADDED) return
    this.windows = []
    this.added = []
  }

  /** The window that has the first keys of the range, those that are new included. */
  find(range: PrefixRange, nowMs: number): KeyWindow | undefined {
    this.windows = this.windows.filter(({ usedAtMs }) => nowMs - usedAtMs <= KEPT_MS)
    const window = this.windows.find((one) => covers(one, range))
    if (window === undefined) return undefined
    window.usedAtMs = nowMs
    this.takeAdded()
    return window
  }

  /** A pass that makes a window begins: keys that come from now on are recorded. */
  beginPass(): void {
    this.passes += 1
  }

  /** The pass is over, with a window or without one. */
  endPass(window: KeyWindow | undefined): void {
    this.passes -= 1
    if (window === undefined) return
    this.windows.push(window)
    if (this.windows.length > KEPT_WINDOWS) this.windows.shift()
    this.takeAdded()
  }

  /** Merges new keys into every window. Keys that came during a pass that still runs are kept for it. */
  private takeAdded(): void {
    if (this.added.length === 0) return
    const prefixes = new Set<string>()
    for (const key of this.added) {
      const prefix = key.slice(0, prefixLengthOf(key))
      if (isDefault(prefix)) prefixes.add(prefix)
    }
    if (this.passes === 0) this.added = []
    for (const window of this.windows) {
      const known = new Set(window.prefixes)
      const before = known.size
      for (const prefix of prefixes) if (has(window, prefix)) known.add(prefix)
      if (known.size > before) window.prefixes = [...known].sort()
    }
  }
}

function has({ from, to, last }: KeyWindow, prefix: string): boolean {
  return prefix >= from && prefix < to && (last === undefined || prefix <= last)
}

function covers(window: KeyWindow, { from, to }: PrefixRange): boolean {
  const { last } = window
  return window.to === to && from >= window.from && (last === undefined || from <= last)
}

/** Whether a composite prefix is of a key in the default namespace: it ends with the end of nothing. */
export function isDefault(prefix: string): boolean {
  return (
    prefix.endsWith(DEFAULT_NAMESPACE) &&
    decodeComposite(bytesOfLatin1(prefix)).namespace.length === 0
  )
}
