import { WeirError } from '../errors.ts'
import { allFinite } from '../numbers/all-finite.ts'
import { FeatureHasher } from './hasher.ts'
import type { FeatureHashing } from './hashing.ts'
import { isBlank, LineCursor } from './line-cursor.ts'

const BAR = 0x7c
const COLON = 0x3a
const HASH = 0x23
const QUOTE = 0x27

/** What a line with names holds, for errors. */
export const HASHED_FORM =
  'a label and features "name:value", or "|namespace name:value name ..." as Vowpal Wabbit reads them, with finite float32 values; an importance must be above 0'

/** Reads the label of lines of training, not that of lines that are only predicted. */
type LabelForm = 'label' | 'no-label'

/**
 * Reads a line whose features have names, and hashes these. A line with a bar is one of Vowpal Wabbit; in any other one,
 * features follow the label as in LIBSVM text, and are in the namespace without a name. A feature without a value has 1.
 *
 *   1 |user age:0.3 DE |ad:0.5 sports price:2      namespaces; their features have 0.5 times their values
 *   1 2.5 'tag|user DE                             counts as 2.5 examples; a tag is read over
 *   1 country=DE age:0.3 # comment                 no namespaces
 */
export class HashedLine {
  label = 0
  /** How many examples the last one counts for. */
  importance = 1
  private readonly hasher: FeatureHasher
  private readonly cursor = new LineCursor()

  constructor(hashing: FeatureHashing) {
    this.hasher = new FeatureHasher(hashing)
  }

  /** Ids, ascending, and values of the last line, in buffers that the next one fills again; only `count` are valid. */
  get ids(): Uint32Array {
    return this.hasher.ids
  }

  get values(): Float32Array {
    return this.hasher.values
  }

  get count(): number {
    return this.hasher.count
  }

  /** Namespaces of crosses that no line has had so far. */
  get missing(): readonly string[] {
    return this.hasher.missing
  }

  /** Reads a line between two places of bytes; says whether it has an example. */
  read(
    bytes: Uint8Array,
    from: number,
    lineEnd: number,
    form: LabelForm = 'label',
  ): 'example' | 'blank' | 'bad' {
    const { cursor, hasher } = this
    const bar = bytes.subarray(from, lineEnd).indexOf(BAR)
    const end = bar < 0 ? beforeComment(bytes, from, lineEnd) : lineEnd
    cursor.bytes = bytes
    cursor.at = from
    cursor.skipBlanks(end)
    hasher.begin()
    // A line without one has nothing of the line before, which may have been bad.
    this.label = 0
    if (cursor.at === end) return form === 'label' ? 'blank' : 'example'
    if (form === 'label' && !this.readHeader(bar < 0 ? end : from + bar, bar >= 0)) return 'bad'
    if (form === 'no-label' && bar >= 0 && cursor.at < from + bar) return 'bad'
    return this.readFeatures(end) && hasher.finish() && this.isFinite ? 'example' : 'bad'
  }

  private get isFinite(): boolean {
    return Number.isFinite(this.label) && allFinite(this.values.subarray(0, this.count))
  }

  /** What is before the features: the label, and in VW's text an importance and a tag. */
  private readHeader(end: number, hasBar: boolean): boolean {
    const { cursor } = this
    this.label = cursor.number(end)
    this.importance = 1
    cursor.skipBlanks(end)
    if (!hasBar) {
      cursor.skipQueryId(end)
      return true
    }
    const words = wordsBetween(cursor.bytes, cursor.at, end)
    cursor.at = end
    const last = words.at(-1)
    const hasTag = last !== undefined && (last.first === QUOTE || last.end === end)
    const [importance = '1', more] = (hasTag ? words.slice(0, -1) : words).map(({ text }) => text)
    this.importance = Math.fround(Number(importance))
    return more === undefined && this.importance > 0 && Number.isFinite(this.importance)
  }

  private readFeatures(end: number): boolean {
    const { cursor } = this
    for (cursor.skipBlanks(end); cursor.at < end; cursor.skipBlanks(end)) {
      const isFine =
        cursor.bytes[cursor.at] === BAR ? this.readNamespace(end) : this.readFeature(end)
      if (!isFine) return false
    }
    return true
  }

  private readNamespace(end: number): boolean {
    const { cursor, hasher } = this
    cursor.at++
    const from = cursor.at
    const nameEnd = this.nameEnd(end)
    const scale = this.numberBehind(nameEnd, end)
    hasher.enter(cursor.bytes, from, nameEnd, scale)
    return Number.isFinite(scale)
  }

  private readFeature(end: number): boolean {
    const { cursor, hasher } = this
    const from = cursor.at
    const nameEnd = this.nameEnd(end)
    const value = this.numberBehind(nameEnd, end)
    if (nameEnd === from || !Number.isFinite(Math.fround(value))) return false
    hasher.add(cursor.bytes, from, nameEnd, value)
    return true
  }

  /** Where the name that begins at the cursor ends. */
  private nameEnd(end: number): number {
    const { bytes } = this.cursor
    let at = this.cursor.at
    while (at < end && bytes[at] !== COLON && !isBoundary(bytes[at]!)) at++
    return at
  }

  /** The number behind the colon at a place, 1 where there is no colon; the cursor goes behind it. */
  private numberBehind(place: number, end: number): number {
    const { cursor } = this
    cursor.at = place
    if (place === end || cursor.bytes[place] !== COLON) return 1
    let wordEnd = place
    while (wordEnd < end && !isBoundary(cursor.bytes[wordEnd]!)) wordEnd++
    cursor.at = place + 1
    return cursor.number(wordEnd)
  }
}

/** The features of a text without a label, such as `|user age:0.3 DE |ad sports`. Throws INVALID_ARGUMENT. */
export function featuresOfText(
  text: string,
  line: HashedLine,
): { readonly ids: Uint32Array; readonly values: Float32Array } {
  const bytes = new TextEncoder().encode(text)
  if (line.read(bytes, 0, bytes.length, 'no-label') === 'bad' || /[\r\n]/.test(text)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `"${text.slice(0, 60)}" are no features: write them without a label, as "|user age:0.3 DE |ad sports", in one line`,
    )
  }
  const { count } = line
  return { ids: line.ids.slice(0, count), values: line.values.slice(0, count) }
}

const isBoundary = (byte: number): boolean => byte === BAR || isBlank(byte)

/** The end of a line without its comment: # at the beginning of a word, as names may have one in them. */
function beforeComment(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    if (bytes[at] === HASH && (at === from || isBlank(bytes[at - 1]!))) return at
  }
  return end
}

/** A word of a header. */
interface Word {
  readonly text: string
  readonly first: number
  readonly end: number
}

function wordsBetween(bytes: Uint8Array, from: number, to: number): readonly Word[] {
  const words: Word[] = []
  for (let at = from; at < to; at++) {
    if (isBlank(bytes[at]!)) continue
    const start = at
    while (at < to && !isBlank(bytes[at]!)) at++
    const text = new TextDecoder().decode(bytes.subarray(start, at))
    words.push({ text, first: bytes[start]!, end: at })
  }
  return words
}
