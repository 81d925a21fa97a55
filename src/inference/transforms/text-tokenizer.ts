import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Tokenizer } from '@huggingface/tokenizers'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { Truncation } from '../port/transforms.ts'
import { useCharacterMaps } from './character-map.ts'
import { addedOf, type Frame, frameOf, type TextCount } from './text-frame.ts'
import { readableTokenizer, type TokenizerJson, type TokenizerPart } from './tokenizer-kinds.ts'
import { keptOf } from './truncation.ts'

/** Tokens of one text or of a pair: their numbers in the vocabulary, and the types that models of pairs take. */
export interface TextTokens {
  readonly ids: readonly number[]
  readonly types: readonly number[]
}

/** How far a text may go, or the two of a pair together. */
export interface TextLimit {
  /** Most tokens, with those that the tokenizer adds; Infinity for any number. */
  readonly most: number
  /** How longer texts are cut. @default they are refused */
  readonly cut?: Truncation | undefined
}

/** Lengths of tokenizer_config.json above this one stand for "no limit". */
const NO_LIMIT = 1e6
/** Characters that any text may have, and those for each token that the model takes: a text of 1 MB takes seconds. */
const MOST_CHARACTERS = 64 * 1024
const CHARACTERS_OF_TOKEN = 128

/** `truncation.strategy` of a tokenizer.json. */
const STRATEGIES: Readonly<Record<string, Truncation>> = {
  LongestFirst: 'longest-first',
  OnlyFirst: 'only-first',
  OnlySecond: 'only-second',
}

/** Tokenizer of texts, from a file as Hugging Face's libraries store it. */
export class TextTokenizer {
  /** Most tokens that the files name; undefined where they name none. */
  readonly most: number | undefined
  /** How the file says that longer texts are cut; undefined where it does not. */
  readonly cut: Truncation | undefined
  /** Token that fills up a text; undefined where the files name none. */
  readonly padding:
    | { readonly id: number; readonly type: number; readonly isLeft: boolean }
    | undefined
  /** The largest id of the vocabulary. */
  readonly largestId: number
  private readonly isCutLeft: boolean
  private readonly tokenizer: Tokenizer
  private readonly processor: TokenizerPart | null
  private readonly frames = new Map<TextCount, Frame>()

  /** Throws UNSUPPORTED for a kind of tokenizer whose tokens would be others, MALFORMED_DATA. */
  constructor(tokenizer: Tokenizer, file: TokenizerJson, config: TokenizerPart) {
    this.tokenizer = tokenizer
    const { truncation, padding, post_processor: processor = null } = file
    this.processor = processor
    this.frame(1)
    const named = [truncation?.['max_length'], config['model_max_length']]
    this.most = named.find((one): one is number => Number.isInteger(one) && Number(one) < NO_LIMIT)
    this.cut = truncation == null ? undefined : strategyOf(truncation['strategy'])
    this.isCutLeft = truncation?.['direction'] === 'Left'
    this.padding = this.paddingOf(padding ?? undefined, config['pad_token'])
    // As arguments of one call, a quarter of a million words would overflow the stack.
    let largestId = 0
    for (const id of tokenizer.get_vocab().values()) largestId = Math.max(largestId, Number(id))
    this.largestId = largestId
  }

  /** Opens the tokenizer of a file. Throws FILE_NOT_FOUND, MALFORMED_DATA, UNSUPPORTED, MODEL_FAILED without the package. */
  static async open(path: string): Promise<TextTokenizer> {
    const Opened = await loadPackage()
    const file = (await jsonFile(path)) as unknown as TokenizerJson
    const config = (await jsonFile(join(dirname(path), 'tokenizer_config.json'), true)) ?? {}
    if (typeof file?.model !== 'object' || file.model === null) {
      throw new WeirError('MALFORMED_DATA', `${path} is no tokenizer: it has no "model"`)
    }
    try {
      const readable = { decoder: null, added_tokens: [], ...readableTokenizer(file) }
      // The package takes the unknown token of a plain vocabulary from here.
      const opened = new Opened(
        { ...readable, decoder: null },
        { unk_token: file.model['unk_token'] },
      )
      useCharacterMaps(opened, file.added_tokens ?? [])
      refuseDisguises(opened, file.added_tokens ?? [])
      return new TextTokenizer(opened, file, config)
    } catch (error) {
      const { code, message } = asWeirError(error, 'MALFORMED_DATA')
      throw new WeirError(code, `${path}: ${message}`, { cause: error })
    }
  }

  /** Tokens that the tokenizer adds to each text, or to each pair. Throws UNSUPPORTED where it takes no pairs. */
  added(count: TextCount): number {
    return addedOf(this.frame(count))
  }

  /** The largest type of a token in a text, or in a pair. */
  largestType(count: TextCount): number {
    return Math.max(...this.frame(count).map(({ type }) => type))
  }

  /** The tokens of a text or of a pair. `index` is its place in the request, for errors. Throws INVALID_ARGUMENT. */
  encode(texts: readonly string[], limit: TextLimit, index: number): TextTokens {
    const frame = this.frame(texts.length === 1 ? 1 : 2)
    const names =
      texts.length === 1
        ? [`text ${index}`]
        : [`the first text of pair ${index}`, `the second text of pair ${index}`]
    const whole = texts.map((text, t) => this.idsOf(text, names[t]!, limit))
    const kept = this.keptOf(whole, limit, { index, room: limit.most - addedOf(frame) })
    const parts = frame.map((part) => {
      const ids = 'text' in part ? kept[part.text]! : [part.id]
      return { ids, types: ids.map(() => part.type) }
    })
    const tokens = {
      ids: parts.flatMap(({ ids }) => ids),
      types: parts.flatMap(({ types }) => types),
    }
    if (tokens.ids.length > 0) return tokens
    const what = texts.length === 1 ? `text ${index}` : `pair ${index}`
    throw invalid(`${what} has no tokens: it is empty, and this tokenizer adds none`)
  }

  /** The ids of each text that go into the frame. */
  private keptOf(
    whole: readonly (readonly number[])[],
    { most, cut }: TextLimit,
    { index, room }: { readonly index: number; readonly room: number },
  ): readonly (readonly number[])[] {
    const lengths = whole.map(({ length }) => length)
    const length = lengths.reduce((sum, one) => sum + one, 0)
    if (length <= room) return whole
    const kept = cut && keptOf(lengths, room, cut)
    if (kept === undefined) throw tooLong(lengths, { index, most, added: most - room, cut })
    return whole.map((ids, t) =>
      this.isCutLeft ? ids.slice(ids.length - kept[t]!) : ids.slice(0, kept[t]),
    )
  }

  private idsOf(text: string, name: string, { most }: TextLimit): readonly number[] {
    const characters = Math.max(MOST_CHARACTERS, CHARACTERS_OF_TOKEN * most)
    if (text.length > characters) {
      throw invalid(
        `${name} has ${text.length} characters, and a model that takes ${most} tokens takes at most ${characters}; shorten it`,
      )
    }
    const ids = this.given(text, name)
    if (ids.every(Number.isInteger)) return ids
    throw invalid(
      `${name} has a word that the vocabulary does not have, and the tokenizer has no token for such words`,
    )
  }

  private given(text: string, name: string): readonly number[] {
    try {
      return this.tokenizer.encode(text, { add_special_tokens: false }).ids
    } catch (error) {
      if (!(error instanceof DisguisedToken)) throw error
      throw invalid(
        `${name} has the token ${error.message} of the tokenizer in another writing; leave it out`,
      )
    }
  }

  private frame(count: TextCount): Frame {
    const known = this.frames.get(count)
    if (known !== undefined) return known
    const frame = frameOf(this.processor, { count, idOf: (token) => this.idOf(token) })
    this.frames.set(count, frame)
    return frame
  }

  private paddingOf(padding: TokenizerPart | undefined, named: unknown): TextTokenizer['padding'] {
    const isLeft = padding?.['direction'] === 'Left'
    const [id, type] = [padding?.['pad_id'], padding?.['pad_type_id']]
    if (typeof id === 'number') return { id, type: typeof type === 'number' ? type : 0, isLeft }
    const token =
      typeof named === 'string' ? named : (named as TokenizerPart | undefined)?.['content']
    return typeof token === 'string' ? { id: this.idOf(token), type: 0, isLeft } : undefined
  }

  private idOf(token: string): number {
    const id = this.tokenizer.token_to_id(token)
    if (id !== undefined) return id
    throw new WeirError('MALFORMED_DATA', `the vocabulary has no token ${JSON.stringify(token)}`)
  }
}

/**
 * Lets a tokenizer refuse a text that is an added token only after it is normalised: the package takes it for that token, and
 * the library in Rust does not.
 */
function refuseDisguises(tokenizer: Tokenizer, added: readonly TokenizerPart[]): void {
  const { normalizer } = tokenizer
  if (normalizer === null) return
  const plain = added.filter((token) => token['normalized'] === false)
  const contents = new Set(plain.map((token) => token['content']))
  const guarded = (text: string): string => {
    const normalised = normalizer.normalize(text)
    if (contents.has(normalised)) throw new DisguisedToken(normalised)
    return normalised
  }
  tokenizer.normalizer = guarded as unknown as typeof normalizer
}

/** A text is an added token in another writing. */
class DisguisedToken extends Error {}

async function loadPackage() {
  try {
    return (await import('@huggingface/tokenizers')).Tokenizer
  } catch (cause) {
    const message = `texts need the package @huggingface/tokenizers: run \`npm install @huggingface/tokenizers\` (${messageOf(cause)})`
    throw new WeirError('MODEL_FAILED', message, { cause })
  }
}

async function jsonFile(path: string, isOptional = false): Promise<TokenizerPart | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const wrong = asWeirError(error, 'STORAGE_FAILED', `cannot read the tokenizer ${path}`)
    if (isOptional && wrong.code === 'FILE_NOT_FOUND') return undefined
    throw wrong
  }
  try {
    return JSON.parse(text) as TokenizerPart
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', `${path} is no JSON: ${messageOf(cause)}`, { cause })
  }
}

/** Texts that are too long and may not be cut, or not so far. */
function tooLong(
  lengths: readonly number[],
  { index, most, added, cut }: TextLimit & { readonly index: number; readonly added: number },
): WeirError {
  const tokens = lengths.reduce((sum, length) => sum + length, added)
  const isPair = lengths.length > 1
  const what = isPair ? `pair ${index}` : `text ${index}`
  const has = `${what} has ${tokens} tokens, and the model takes ${most}; `
  if (cut === undefined)
    return invalid(`${has}shorten it, or set truncate: true in the settings of the tokenizer`)
  const why = isPair ? 'that text is too short' : 'there is no second text'
  return invalid(
    `${has}${cut} cannot cut it so far, because ${why}; shorten it, or set truncate: longest-first`,
  )
}

function strategyOf(strategy: unknown): Truncation {
  const known = typeof strategy === 'string' && Object.hasOwn(STRATEGIES, strategy)
  if (strategy === undefined || known) return STRATEGIES[String(strategy ?? 'LongestFirst')]!
  throw new WeirError(
    'UNSUPPORTED',
    `the tokenizer has the truncation strategy ${String(strategy)}`,
  )
}

const invalid = (message: string): WeirError => new WeirError('INVALID_ARGUMENT', message)
