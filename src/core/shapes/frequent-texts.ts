import { latin1Of } from '../text/latin1.ts'

/** Texts that a stream remembers at most. */
export const MOST_TEXTS = 1024
/** Longer texts are seldom the same again. */
export const LONGEST_KEPT = 64

/**
 * The texts that come again in a stream, as its writer knows them: what is in `texts` has the same place at the
 * reader. A text is kept when it comes for the second time, so that those that never come again cost nothing.
 * Kept are copies: a text may be a part of a large one, which would stay in memory with it.
 */
export class FrequentTexts {
  private readonly texts: string[] = new Array<string>(MOST_TEXTS).fill('')
  /** Hash of the last text of each place. */
  private readonly hashes = new Int32Array(MOST_TEXTS)
  /** Places that the current value has changed. */
  private readonly changed: number[] = []

  /** Place of a text with this hash. */
  placeOf(hash: number): number {
    return (hash ^ (hash >>> 10)) & (MOST_TEXTS - 1)
  }

  /** Whether the reader has the text at this place. */
  has(place: number, text: string): boolean {
    return this.texts[place] === text
  }

  /** Whether a text of this hash was the last one of its place, and is to be kept. */
  comesAgain(place: number, hash: number): boolean {
    if (this.hashes[place] === hash) return true
    this.hashes[place] = hash
    return false
  }

  /** Keeps a text, given as its bytes, which the reader gets with its place. */
  keep(place: number, bytes: Uint8Array, start: number, length: number): void {
    this.texts[place] = latin1Of(bytes, length, start)
    this.changed.push(place)
  }

  /** A value begins. */
  begin(): void {
    if (this.changed.length > 0) this.changed.length = 0
  }

  /** The reader does not get the value that has begun, and so none of the texts that it kept. */
  undo(): void {
    for (const place of this.changed) this.texts[place] = ''
  }
}

/** A hash by the length and by letters from the end, where ids differ first, the start and the middle. */
export function hashOfText(text: string): number {
  const last = text.length - 1
  let hash = text.length
  hash = Math.imul(hash, 31) + text.charCodeAt(last)
  hash = Math.imul(hash, 31) + text.charCodeAt(0)
  hash = Math.imul(hash, 31) + text.charCodeAt(last >> 1)
  if (last > 0) hash = Math.imul(hash, 31) + text.charCodeAt(last - 1)
  return hash
}
