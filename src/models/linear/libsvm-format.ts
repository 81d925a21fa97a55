import { WeirError } from '../../core/errors.ts'
import { MAX_FEATURE, mergeFeatures } from '../../core/feature.ts'
import { HASHED_FORM, HashedLine } from '../../core/features/hashed-line.ts'
import { FEATURE_HASHING, type FeatureHashing } from '../../core/features/hashing.ts'
import { asciiText, LineCursor } from '../../core/features/line-cursor.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import { aFunction, bytes, oneOf } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { requireLineEnd } from '../../core/text/longest-line.ts'
import type { BadLineSink, BadLines } from '../ratings/parser.ts'

/**
 * LIBSVM text: one labelled sparse example a line. Feature ids are whole numbers in any order; LIBSVM starts at
 * 1, 0 is accepted too. The values of an id that comes again in a line are added up, as hashed features need it.
 * A query id of ranking data (`qid:7` behind the label) is read over, as scikit-learn does it. A comment begins with #.
 *
 *   +1 3:1 11:0.5 14:1e-3 # comment
 *
 * The function takes one example, its ids ascending. `indexes` and `values` are buffers that the next line fills
 * again; only their first `count` elements are valid. `importance` is how many examples this one counts for, above 0: 1, unless
 * a line of Vowpal Wabbit says another one.
 */
export type LibsvmSink = (
  label: number,
  indexes: Uint32Array,
  values: Float32Array,
  count: number,
  importance: number,
) => void

/** Options of the parser. */
export interface LibsvmParserOptions {
  /** @default 'fail' */
  readonly badLines?: BadLines
  /** With 'count', gets each bad line. */
  readonly onBadLine?: BadLineSink
  /** Features have names, which are hashed (`HashedLine`). @default they have ids */
  readonly hashing?: FeatureHashing | undefined
}

const LIBSVM_PARSER: OptionShape<LibsvmParserOptions> = {
  badLines: oneOf('fail', 'count'),
  onBadLine: aFunction(),
  hashing: nested(FEATURE_HASHING),
}

/** What a line holds, for errors. */
const EXAMPLE_FORM = 'a label and feature:value pairs with finite float32 values'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const HASH = 0x23
const COLON = 0x3a
const NOTHING = new Uint8Array(0)

/**
 * Streaming parser: `push` chunks of bytes of any size, then `end`. It keeps only the last line of a chunk
 * where that is not whole. A bad line throws UNPARSABLE_RECORD with its number, or is counted; one that does
 * not end throws MALFORMED_DATA.
 */
export class LibsvmParser {
  private readonly sink: LibsvmSink
  private readonly badLines: BadLines
  private readonly onBadLine: BadLineSink | undefined
  private readonly hashed: HashedLine | undefined
  private indexes = new Uint32Array(256)
  private values = new Float32Array(256)
  private rest: Uint8Array = NOTHING
  private readonly cursor = new LineCursor()
  private line = 0
  private bad = 0

  constructor(sink: LibsvmSink, options: LibsvmParserOptions = {}) {
    checkArgument('new LibsvmParser', 'sink', aFunction(), sink)
    checkOptions('new LibsvmParser', LIBSVM_PARSER, options)
    this.sink = sink
    this.badLines = options.badLines ?? 'fail'
    this.onBadLine = options.onBadLine
    this.hashed = options.hashing && new HashedLine(options.hashing)
  }

  /** What a line holds, for errors. */
  get form(): string {
    return this.hashed === undefined ? EXAMPLE_FORM : HASHED_FORM
  }

  /** Lines seen so far. */
  get lineCount(): number {
    return this.line
  }

  /** Bad lines so far, if `badLines` is 'count'. */
  get badLineCount(): number {
    return this.bad
  }

  /** Namespaces of the crosses of `hashing` that no line has had so far. */
  get missingNamespaces(): readonly string[] {
    return this.hashed?.missing ?? []
  }

  /** Parses all lines that end inside this chunk. */
  push(chunk: Uint8Array): void {
    checkArgument('parser.push', 'chunk', bytes, chunk)
    let from = 0
    if (this.rest.length > 0) {
      from = chunk.indexOf(LINE_FEED) + 1
      const head = from === 0 ? chunk : chunk.subarray(0, from)
      const line = joined(this.rest, head)
      this.rest = from === 0 ? line : NOTHING
      requireLineEnd(this.rest.length, `line ${this.line + 1} of the examples`)
      if (from === 0) return
      this.parseLines(line)
    }
    this.rest = this.parseLines(from === 0 ? chunk : chunk.subarray(from)).slice()
  }

  /** Parses the last line, which may have no line end. A parser can be used again, also after a bad line. */
  end(): void {
    const { rest } = this
    if (rest.length === 0) return
    this.rest = NOTHING
    this.parseLines(joined(rest, Uint8Array.of(LINE_FEED)))
  }

  /** Parses whole lines; returns the offset behind the last one. */
  private parseLines(bytes: Uint8Array): Uint8Array {
    this.cursor.bytes = bytes
    let from = 0
    for (;;) {
      const end = bytes.indexOf(LINE_FEED, from)
      if (end < 0) return bytes.subarray(from)
      this.line++
      const lineEnd = withoutReturn(bytes, from, end)
      const start = from + byteOrderMark(bytes, from, lineEnd)
      if (this.hashed === undefined) this.parseLine(start, lineEnd)
      else this.parseNames(this.hashed, start, lineEnd)
      from = end + 1
    }
  }

  private parseLine(from: number, lineEnd: number): void {
    const { cursor } = this
    const end = beforeComment(cursor.bytes, from, lineEnd)
    cursor.at = from
    cursor.skipBlanks(end)
    if (cursor.at === end) return
    const label = cursor.number(end)
    cursor.skipBlanks(end)
    cursor.skipQueryId(end)
    let count = 0
    for (cursor.skipBlanks(end); cursor.at < end; cursor.skipBlanks(end)) {
      const index = cursor.number(end, COLON)
      const value = cursor.bytes[cursor.at++] === COLON ? cursor.number(end) : Number.NaN
      const isId = Number.isSafeInteger(index) && index >= 0 && index <= MAX_FEATURE
      // Values are stored as float32, where 1e39 is Infinity.
      if (!isId || !Number.isFinite(Math.fround(value))) {
        this.reject(from, end)
        return
      }
      if (count === this.indexes.length) this.grow()
      this.indexes[count] = index
      this.values[count++] = value
    }
    const merged = mergeFeatures(this.indexes, this.values, count)
    const isSumFinite = merged === count || allFinite(this.values.subarray(0, merged))
    if (Number.isFinite(label) && isSumFinite)
      this.sink(label, this.indexes, this.values, merged, 1)
    else this.reject(from, end)
  }

  private parseNames(line: HashedLine, from: number, end: number): void {
    const found = line.read(this.cursor.bytes, from, end)
    if (found === 'example')
      this.sink(line.label, line.ids, line.values, line.count, line.importance)
    else if (found === 'bad') this.reject(from, end)
  }

  private grow(): void {
    const indexes = new Uint32Array(this.indexes.length * 2)
    const values = new Float32Array(indexes.length)
    indexes.set(this.indexes)
    values.set(this.values)
    this.indexes = indexes
    this.values = values
  }

  private reject(from: number, end: number): void {
    if (this.badLines === 'count') {
      this.bad++
      this.onBadLine?.(
        this.line,
        new TextDecoder().decode(this.cursor.bytes.subarray(from, end)),
        this.form,
      )
      return
    }
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `line ${this.line} of the examples, "${asciiText(this.cursor.bytes, from, Math.min(end, from + 60))}": ` +
        `expected ${this.form}; fix the line, or leave bad lines out with --bad-lines count (badLines: "count")`,
      { details: { line: this.line } },
    )
  }
}

/** Length of the byte order mark that a file of some editors begins with, 0 without it. */
function byteOrderMark(bytes: Uint8Array, from: number, end: number): number {
  const isMark = bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf
  return isMark && from + 3 <= end ? 3 : 0
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}

/** The end of a line's content, before its carriage return. */
function withoutReturn(bytes: Uint8Array, from: number, lineFeed: number): number {
  return lineFeed > from && bytes[lineFeed - 1] === CARRIAGE_RETURN ? lineFeed - 1 : lineFeed
}

/** The end of a line's content, before its comment. */
function beforeComment(bytes: Uint8Array, from: number, end: number): number {
  const comment = bytes.subarray(from, end).indexOf(HASH)
  return comment < 0 ? end : from + comment
}

/** One example as a line, without line end. */
export function formatLibsvm(
  label: number,
  indexes: ArrayLike<number>,
  values: ArrayLike<number>,
): string {
  let text = label > 0 ? `+${label}` : String(label)
  for (let k = 0; k < indexes.length; k++) text += ` ${indexes[k]}:${values[k]}`
  return text
}
