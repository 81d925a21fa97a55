import { latin1Of } from '../text/latin1.ts'

const SLOTS = 1024
/** Longer texts are seldom the same again. */
const LONGEST = 64

/**
 * The texts read lately: one that comes again is found by its bytes, without a new string. Records of a
 * stream share most of their short texts.
 */
export class RecentTexts {
  private readonly texts: string[] = new Array<string>(SLOTS).fill('')

  /** The text of `length` bytes from `start`, all below 128. */
  of(bytes: Uint8Array, start: number, length: number): string {
    if (length === 0) return ''
    if (length > LONGEST) return latin1Of(bytes, length, start)
    const slot = slotOf(bytes, start, length)
    const known = this.texts[slot]!
    if (isSame(known, bytes, start, length)) return known
    const text = latin1Of(bytes, length, start)
    this.texts[slot] = text
    return text
  }
}

/** Slot by the length and by bytes from the end, where ids differ first, the start and the middle. */
function slotOf(bytes: Uint8Array, start: number, length: number): number {
  const last = start + length - 1
  let hash = length
  hash = Math.imul(hash, 31) + bytes[last]!
  hash = Math.imul(hash, 31) + bytes[start]!
  hash = Math.imul(hash, 31) + bytes[start + (length >> 1)]!
  if (length > 1) hash = Math.imul(hash, 31) + bytes[last - 1]!
  return (hash ^ (hash >>> 10)) & (SLOTS - 1)
}

function isSame(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false
  for (let i = length - 1; i >= 0; i--) {
    if (text.charCodeAt(i) !== bytes[start + i]) return false
  }
  return true
}
