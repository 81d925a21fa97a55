import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Tokenizer } from '@huggingface/tokenizers'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { useCharacterMaps } from './character-map.ts'
import { readableTokenizer, type TokenizerJson, type TokenizerPart } from './tokenizer-kinds.ts'

/** Tokens of one text: their numbers in the vocabulary, and the types that models of pairs take. */
export interface TextTokens {
  readonly ids: readonly number[]
  readonly types: readonly number[]
}

/** How far a text may go. */
export interface TextLimit {
  /** Most tokens, with those that the tokenizer adds; Infinity for any number. */
  readonly most: number
  /** A longer text is cut; otherwise it is refused. */
  readonly isCut: boolean
}

/** Tokens around those of a text, such as `[CLS]` and `[SEP]`. */
interface Frame {
  readonly before: TextTokens
  readonly after: TextTokens
  /** Type of the text's tokens. */
  readonly type: number
}

/** What a post-processor makes of a text's tokens. */
interface Framed {
  readonly tokens: readonly string[]
  readonly token_type_ids?: readonly number[]
}

/** Lengths of tokenizer_config.json above this one stand for "no limit". */
const NO_LIMIT = 1e6
const MARK = '\0text'
/** Characters that any text may have, and those for each token that the model takes: a text of 1 MB takes seconds. */
const MOST_CHARACTERS = 64 * 1024
const CHARACTERS_OF_TOKEN = 128

/** Tokenizer of texts, from a file as Hugging Face's libraries store it. */
export class TextTokenizer {
  /** Most tokens that the files name; undefined where they name none. */
  readonly most: number | undefined
  /** The file says that longer texts are cut. */
  readonly isCut: boolean
  /** Token that fills up a text; undefined where the files name none. */
  readonly padding:
    | { readonly id: number; readonly type: number; readonly isLeft: boolean }
    | undefined
  /** The largest id of the vocabulary. */
  readonly largestId: number
  private readonly isCutLeft: boolean
  private readonly tokenizer: Tokenizer
  private readonly frame: Frame

  /** Throws UNSUPPORTED for a kind of tokenizer whose tokens would be others, MALFORMED_DATA. */
  constructor(tokenizer: Tokenizer, file: TokenizerJson, config: TokenizerPart) {
    this.tokenizer = tokenizer
    this.frame = this.frameOf()
    const { truncation, padding } = file
    const named = [truncation?.['max_length'], config['model_max_length']]
    this.most = named.find((one): one is number => Number.isInteger(one) && Number(one) < NO_LIMIT)
    this.isCut = truncation != null
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

  /** Tokens that the tokenizer adds to each text. */
  get added(): number {
    return this.frame.before.ids.length + this.frame.after.ids.length
  }

  /** The tokens of a text. `index` is its place in the request, for errors. Throws INVALID_ARGUMENT. */
  encode(text: string, { most, isCut }: TextLimit, index: number): TextTokens {
    const { before, after, type } = this.frame
    const characters = Math.max(MOST_CHARACTERS, CHARACTERS_OF_TOKEN * most)
    if (text.length > characters) {
      throw invalid(
        `text ${index} has ${text.length} characters, and a model that takes ${most} tokens takes at most ${characters}; shorten it`,
      )
    }
    const ids = this.idsOf(text, index)
    const room = most - this.added
    if (ids.length > room && !isCut) {
      throw invalid(
        `text ${index} has ${ids.length + this.added} tokens, and the model takes ${most}; shorten it, or set truncate: true in the settings of the tokenizer`,
      )
    }
    const kept = this.isCutLeft ? ids.slice(Math.max(0, ids.length - room)) : ids.slice(0, room)
    const tokens = {
      ids: [...before.ids, ...kept, ...after.ids],
      types: [...before.types, ...kept.map(() => type), ...after.types],
    }
    if (tokens.ids.length > 0) return tokens
    throw invalid(`text ${index} has no tokens: it is empty, and this tokenizer adds none`)
  }

  private idsOf(text: string, index: number): readonly number[] {
    const ids = this.given(text, index)
    if (ids.every(Number.isInteger)) return ids
    throw invalid(
      `text ${index} has a word that the vocabulary does not have, and the tokenizer has no token for such words`,
    )
  }

  private given(text: string, index: number): readonly number[] {
    try {
      return this.tokenizer.encode(text, { add_special_tokens: false }).ids
    } catch (error) {
      if (!(error instanceof DisguisedToken)) throw error
      throw invalid(
        `text ${index} has the token ${error.message} of the tokenizer in another writing; leave it out`,
      )
    }
  }

  private frameOf(): Frame {
    const { post_processor: processor } = this.tokenizer
    const framed: Framed = processor?.post_process([MARK], null, true) ?? { tokens: [MARK] }
    const { tokens, token_type_ids: types = [] } = framed
    const at = tokens.indexOf(MARK)
    if (at === -1 || tokens.lastIndexOf(MARK) !== at) {
      throw new WeirError('UNSUPPORTED', 'the tokenizer does not put a text in one place')
    }
    const part = (from: number, to: number): TextTokens => ({
      ids: tokens.slice(from, to).map((token) => this.idOf(token)),
      types: tokens.slice(from, to).map((_, i) => types[from + i] ?? 0),
    })
    return { before: part(0, at), after: part(at + 1, tokens.length), type: types[at] ?? 0 }
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

const invalid = (message: string): WeirError => new WeirError('INVALID_ARGUMENT', message)
