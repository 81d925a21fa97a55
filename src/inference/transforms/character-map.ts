import type { Tokenizer } from '@huggingface/tokenizers'
import { WeirError } from '../../core/errors.ts'
import type { TokenizerPart } from './tokenizer-kinds.ts'

/** Bytes of a group of characters that is looked up as a whole; of a longer one each character is. */
const MOST_BYTES = 5
const UNIT_BYTES = 4
const NUL = 0
/** Characters that are groups of their own, whatever stands beside them. */
const PLAIN = /^[\n\x20-\x7e]*$/

const GROUPS = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * What characters become, as SentencePiece stores it (`precompiled_charsmap`) and the normalizer `Precompiled` of the library
 * in Rust applies it:
 *
 *     length of the array (uint32) | double array of prefixes (uint32 each) | texts, each with a NUL behind it
 *
 * The array is a trie of bytes as Darts-clone makes it; the value of a leaf is the place of its text.
 */
export class CharacterMap {
  private readonly units: Uint32Array
  private readonly texts: Buffer
  /** What short groups become; null for those that stay. */
  private readonly known = new Map<string, string | null>()

  private constructor(units: Uint32Array, texts: Buffer) {
    this.units = units
    this.texts = texts
  }

  /** Reads a map in Base64. Throws MALFORMED_DATA. */
  static of(base64: unknown): CharacterMap {
    const bytes = Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64')
    const length = bytes.length < UNIT_BYTES ? 0 : bytes.readUInt32LE()
    const end = UNIT_BYTES + length
    if (length === 0 || length % UNIT_BYTES !== 0 || end > bytes.length) {
      throw new WeirError('MALFORMED_DATA', 'the normalizer Precompiled has no map of characters')
    }
    const units = Uint32Array.from({ length: length / UNIT_BYTES }, (_, i) =>
      bytes.readUInt32LE(UNIT_BYTES * (i + 1)),
    )
    return new CharacterMap(units, bytes.subarray(end))
  }

  /** The text with its characters as the map has them. */
  normalize(text: string): string {
    let whole = ''
    for (const group of groupsOf(text)) {
      const isShort = Buffer.byteLength(group) <= MOST_BYTES
      const mapped = isShort ? this.mapped(group) : null
      if (mapped !== null) whole += mapped
      else for (const character of group) whole += this.mapped(character) ?? character
    }
    return whole
  }

  private mapped(group: string): string | null {
    const known = this.known.get(group)
    if (known !== undefined) return known
    const found = this.found(Buffer.from(group))
    this.known.set(group, found)
    return found
  }

  /** The text of the shortest prefix that the map has; the library replaces the whole group by it. */
  private found(bytes: Uint8Array): string | null {
    const { units } = this
    let at = offsetOf(units[0]!)
    for (const byte of bytes) {
      if (byte === NUL) return null
      at ^= byte
      const unit = units[at]
      if (unit === undefined || labelOf(unit) !== byte) return null
      at ^= offsetOf(unit)
      if (hasLeaf(unit)) return this.textAt(units[at]! & 0x7fffffff)
    }
    return null
  }

  private textAt(place: number): string {
    const end = this.texts.indexOf(NUL, place)
    return this.texts.toString('utf8', place, end === -1 ? this.texts.length : end)
  }
}

/** The groups of characters that people see as one. */
function* groupsOf(text: string): Generator<string> {
  if (PLAIN.test(text)) yield* text
  else for (const { segment } of GROUPS.segment(text)) yield segment
}

const hasLeaf = (unit: number): boolean => ((unit >>> 8) & 1) === 1
const labelOf = (unit: number): number => (unit & 0x800000ff) >>> 0
const offsetOf = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6)

/** A normalizer of the package, in a sequence of them. */
interface PackageNormalizer {
  readonly config: TokenizerPart
  normalize(text: string): string
}

/**
 * Lets the normalizers `Precompiled` of a tokenizer go by their maps, which the package only imitates. Throws MALFORMED_DATA, and
 * UNSUPPORTED where the package has normalised an added token in its own way.
 */
export function useCharacterMaps({ normalizer }: Tokenizer, added: readonly TokenizerPart[]): void {
  const { normalizers = [] } = (normalizer ?? {}) as {
    readonly normalizers?: readonly (PackageNormalizer | null)[]
  }
  const precompiled = normalizers.filter((one) => one?.config.type === 'Precompiled')
  if (precompiled.length === 0) return
  const contents = added
    .filter((token) => token['normalized'] !== false)
    .map((token) => String(token['content']))
  const before = contents.map((content) => normalizer!.normalize(content))
  for (const one of precompiled) {
    const map = CharacterMap.of(one!.config['precompiled_charsmap'])
    one!.normalize = (text) => map.normalize(text)
  }
  const other = contents.find((content, i) => normalizer!.normalize(content) !== before[i])
  if (other === undefined) return
  const message = `the tokenizer has the added token ${JSON.stringify(other)}, which its normalizer changes; tokenize in a module, or send the ids`
  throw new WeirError('UNSUPPORTED', message)
}
