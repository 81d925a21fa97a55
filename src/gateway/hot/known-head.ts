/** A head up to the digits of its length. */
const LENGTH_FIELD = /^(?:.*\r\n)*?content-length:[ \t]*/i
const MOST_DIGITS = 9
const ZERO = 0x30

/**
 * The head of a request that a connection sends again and again, and what it means. Only the digits of its length change
 * from one request to the next, so it is compared, not parsed.
 */
export class KnownHead<Meaning> {
  readonly meaning: Meaning
  /** Index of the body behind the head that was found last. */
  bodyAt = 0
  /** Most characters of the head. */
  readonly mostLength: number
  private readonly before: string
  private readonly after: string

  /** `text`: the head with the empty line behind it, whose field Content-Length has the value `length`. */
  constructor(text: string, length: string, meaning: Meaning) {
    const digitsAt = LENGTH_FIELD.exec(text)![0].length
    this.before = text.slice(0, digitsAt)
    this.after = text.slice(digitsAt + length.length)
    this.mostLength = text.length - length.length + MOST_DIGITS
    this.meaning = meaning
  }

  /** The length of the body behind this head at `at`, and sets `bodyAt`; -1 where there is another head. */
  lengthAt(text: string, at: number): number {
    if (!text.startsWith(this.before, at)) return -1
    const digitsAt = at + this.before.length
    let end = digitsAt
    let length = 0
    while (end - digitsAt < MOST_DIGITS) {
      const digit = text.charCodeAt(end) - ZERO
      if (!(digit >= 0 && digit <= 9)) break
      length = length * 10 + digit
      end++
    }
    const isLength = end > digitsAt && text.charCodeAt(digitsAt) !== ZERO
    if (!isLength || !text.startsWith(this.after, end)) return -1
    this.bodyAt = end + this.after.length
    return length
  }
}
