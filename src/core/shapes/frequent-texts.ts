import type { ByteWriter } from '../byte-writer.ts'
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
  /** Hash of all letters of the last text of each place that was not kept. */
  private readonly hashes = new Int32Array(MOST_TEXTS)
  /** Places that the current value has changed. */
  private readonly changed: number[] = []

  /** Place of a text with this hash. */
  placeOf(hash: number): number {
    return (hash ^ (hash >>> 10) ^ (hash >>> 20)) & (MOST_TEXTS - 1)
  }

  /** Whether the reader has the text at this place. */
  has(place: number, text: string): boolean {
    return this.texts[place] === text
  }

  /** Whether this was the last text of its place that was not kept, so that it is to be kept. */
  comesAgain(place: number, text: string): boolean {
    const hash = hashOfLetters(text)
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

/**
 * Hash for the place of a text, by its length and up to 16 of its letters from all parts: frequent texts that share
 * a place replace each other all the time.
 */
export function hashOfText(text: string): number {
  const { length } = text
  const step = 1 + (length >> 4)
  let hash = length
  for (let i = length - 1; i >= 0; i -= step) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}

/** A hash by all letters: ids of many texts differ in letters that `hashOfText` does not look at. */
function hashOfLetters(text: string): number {
  let hash = text.length
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}

/** Appends what stands for something that the reader has at a place: its kind, and the place as u16, little-endian. */
export function writePlace(kind: number, place: number, writer: ByteWriter): void {
  writer.reserve(3)
  const { bytes, length } = writer
  bytes[length] = kind
  bytes[length + 1] = place
  bytes[length + 2] = place >> 8
  writer.length = length + 3
}
