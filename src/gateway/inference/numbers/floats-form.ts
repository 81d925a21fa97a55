import { afterSpace, lastNesting, readFloats } from './json-floats.ts'

const DATA = Buffer.from('"data"')
const OPEN = 0x5b
const COLON = 0x3a
const BACKSLASH = 0x5c
/** Longer text around the numbers is not kept. */
const MAX_TEXT_BYTES = 4096

/**
 * A body of JSON with one list of numbers under the key `data`, and what it means. Clients that send a tensor as JSON change
 * nothing but these numbers from one request to the next, so the rest is compared, not parsed.
 */
export class FloatsForm<Meaning> {
  /** What the body means, but for the numbers. */
  readonly meaning: Meaning
  private readonly before: Buffer
  private readonly after: Buffer
  private readonly count: number
  private readonly nesting: number

  private constructor(
    before: Buffer,
    after: Buffer,
    { meaning, count, nesting }: FormContent<Meaning>,
  ) {
    this.before = before
    this.after = after
    this.meaning = meaning
    this.count = count
    this.nesting = nesting
  }

  /** The form of a body of valid JSON with so many numbers; undefined when it is not certain which part they are. */
  static of<Meaning>(
    json: Buffer,
    count: number,
    meaning: Meaning,
  ): FloatsForm<Meaning> | undefined {
    const from = startOfNumbers(json)
    if (from < 0) return undefined
    const end = readFloats(json, from, new Float32Array(count))
    if (end < 0 || from + json.length - end > MAX_TEXT_BYTES) return undefined
    const nesting = lastNesting()
    // Copies: the memory of the body is used again.
    const before = Buffer.from(json.subarray(0, from))
    return new FloatsForm(before, Buffer.from(json.subarray(end)), { meaning, count, nesting })
  }

  /** The numbers of a body of this form; undefined for another body. */
  floatsOf(json: Buffer): Float32Array<ArrayBuffer> | undefined {
    const { before, after, count } = this
    if (json.length < before.length + after.length) return undefined
    if (json.compare(before, 0, before.length, 0, before.length) !== 0) return undefined
    const floats = new Float32Array(count)
    const end = readFloats(json, before.length, floats)
    if (end < 0 || json.length - end !== after.length) return undefined
    if (lastNesting() !== this.nesting) return undefined
    return json.compare(after, 0, after.length, end) === 0 ? floats : undefined
  }
}

interface FormContent<Meaning> {
  readonly meaning: Meaning
  readonly count: number
  /** As `lastNesting`. */
  readonly nesting: number
}

/**
 * Index behind the `[` of the only `"data": [`; -1 unless there is exactly one. Without a backslash in the body a quote ends
 * each text, so that `"data"` before a colon is a key and nothing else.
 */
function startOfNumbers(json: Buffer): number {
  if (json.includes(BACKSLASH)) return -1
  let start = -1
  for (let at = json.indexOf(DATA); at >= 0; at = json.indexOf(DATA, at + 1)) {
    const colon = afterSpace(json, at + DATA.length)
    if (json[colon] !== COLON) continue
    const open = afterSpace(json, colon + 1)
    if (start >= 0 || json[open] !== OPEN) return -1
    start = open + 1
  }
  return start
}
