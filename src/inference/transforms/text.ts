import { WeirError } from '../../core/errors.ts'
import { itemAxisOf, type TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { TokenizerTransform } from '../port/transforms.ts'
import { elementsOfBytes } from '../runners/byte-strings.ts'
import type { TextCount } from './text-frame.ts'
import type { TextLimit, TextTokenizer, TextTokens } from './text-tokenizer.ts'

/** What an input of the model takes of the tokens. */
type Part = 'ids' | 'mask' | 'types'

const USUAL_INPUTS: Readonly<Record<Part, string>> = {
  ids: 'input_ids',
  mask: 'attention_mask',
  types: 'token_type_ids',
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What a transform is opened with. */
interface TextContext {
  readonly transform: TokenizerTransform
  readonly tokenizer: TextTokenizer
}

/** Texts, or pairs of texts, as up to three inputs of a model: the ids of their tokens, a mask and types. */
export class TextInput {
  /** What takes the place of the inputs: one text an item, or two inputs with one each. */
  readonly specs: readonly TensorSpec[]
  /** Names of the inputs that the texts become, that of the ids first. */
  readonly inputs: readonly string[]
  private readonly tokenizer: TextTokenizer
  private readonly count: TextCount
  private readonly parts: readonly (readonly [part: Part, spec: TensorSpec])[]
  private readonly limit: TextLimit
  private readonly multiple: number
  /** Tokens of each text, where the model says it; otherwise 0. */
  private readonly fixed: number

  /** `specs` are all inputs of the model. Throws INVALID_ARGUMENT for a model that takes no tokens of this tokenizer. */
  constructor(name: string, specs: readonly TensorSpec[], { transform, tokenizer }: TextContext) {
    const { pair } = transform
    this.tokenizer = tokenizer
    this.count = pair === undefined ? 1 : 2
    this.parts = partsOf(name, specs, transform)
    const [[, ids] = []] = this.parts
    this.inputs = this.parts.map(([, spec]) => spec.name)
    this.fixed = Math.max(0, ids!.shape[1]!)
    this.limit = limitOf(name, this.fixed, { transform, tokenizer })
    this.multiple = typeof transform.padding === 'number' ? transform.padding : 1
    const pads = this.fixed > 0 || this.multiple > 1 || transform.padding === 'longest'
    if (pads && tokenizer.padding === undefined) {
      throw invalid(
        name,
        `${transform.file} names no token for padding: add "padding" to it, or "pad_token" to tokenizer_config.json`,
      )
    }
    if (pads && this.fixed === 0 && !this.parts.some(([part]) => part === 'mask')) {
      throw invalid(
        name,
        'the model has no mask, so padding would change its answers; leave out padding',
      )
    }
    this.specs = [name, ...(pair === undefined ? [] : [pair])].map((one) => textSpec(one))
  }

  /**
   * Tokens of each text, or of each pair of one text of each tensor. Throws INVALID_ARGUMENT for what is no text, and for one
   * that is too long.
   */
  tokens(tensors: readonly Tensor[]): TextTokens[] {
    const columns = tensors.map(({ data }) => elementsOfBytes(data))
    return columns[0]!.map((_, i) => {
      const texts = columns.map((column, c) => this.textOf(column[i]!, c, i))
      return this.tokenizer.encode(texts, this.limit, i)
    })
  }

  /** The inputs of the model for some texts, all as long as the longest of them with its padding. */
  tensors(texts: readonly TextTokens[]): Tensor[] {
    const length = Math.max(1, ...texts.map((text) => this.lengthOf(text)))
    const padding = this.tokenizer.padding ?? { id: 0, type: 0, isLeft: false }
    const filler = { ids: padding.id, mask: 0, types: padding.type }
    return this.parts.map(([part, { name, datatype }]) => {
      const data = elementsFor(datatype, texts.length * length)
      texts.forEach((text, t) => {
        const count = text.ids.length
        const first = padding.isLeft ? length - count : 0
        for (let i = 0; i < length; i++) {
          const isToken = i >= first && i < first + count
          const value = part === 'mask' ? 1 : text[part][i - first]!
          data.set(t * length + i, isToken ? value : filler[part])
        }
      })
      return { name, datatype, shape: [texts.length, length], data: data.bytes }
    })
  }

  /** The largest id of the vocabulary. */
  get largestId(): number {
    return this.tokenizer.largestId
  }

  /** The largest type of a token. */
  get largestType(): number {
    return this.tokenizer.largestType(this.count)
  }

  /** Inputs of one text that has the largest id and type of the tokenizer, or only those that each model has. */
  probe(isLargest: boolean): Tensor[] {
    const [id, type] = isLargest ? [this.largestId, this.largestType] : [0, 0]
    return this.tensors([{ ids: [id], types: [type] }])
  }

  private lengthOf({ ids }: TextTokens): number {
    if (this.fixed > 0) return this.fixed
    const padded = Math.ceil(ids.length / this.multiple) * this.multiple
    return Math.max(ids.length, Math.min(padded, this.limit.most))
  }

  private textOf(bytes: Uint8Array, column: number, index: number): string {
    try {
      return strict.decode(bytes)
    } catch {
      throw invalid(this.specs[column]!.name, `text ${index} is no UTF-8`)
    }
  }
}

function partsOf(
  name: string,
  specs: readonly TensorSpec[],
  transform: TokenizerTransform,
): (readonly [part: Part, spec: TensorSpec])[] {
  const isIds = specs.some((spec) => spec.name === name)
  const usual = { ...USUAL_INPUTS, ...(isIds ? { ids: name } : {}) }
  const parts = (['ids', 'mask', 'types'] as const).flatMap((part) => {
    const wanted = transform[part] ?? usual[part]
    const spec = specs.find((one) => one.name === wanted)
    if (spec !== undefined) return [[part, requireTokens(name, spec)] as const]
    if (part !== 'ids' && transform[part] === undefined) return []
    const known = specs.map((one) => one.name).join(', ')
    throw invalid(
      name,
      `the model has no input "${wanted}" for ${part}; set ${part} to one of ${known}`,
    )
  })
  const lengths = new Set(parts.map(([, { shape }]) => shape[1]))
  if (lengths.size === 1) return parts
  throw invalid(name, `the inputs of the tokens have different lengths: ${[...lengths].join(', ')}`)
}

function requireTokens(name: string, spec: TensorSpec): TensorSpec {
  const { datatype, shape } = spec
  const isRight = shape.length === 2 && (datatype === 'INT64' || datatype === 'INT32')
  if (isRight && itemAxisOf(spec) === 0) return spec
  throw invalid(
    name,
    `tokens become INT64 or INT32 [items, tokens], and "${spec.name}" is ${datatype} [${shape.join(', ')}]`,
  )
}

const textSpec = (name: string): TensorSpec => ({
  name,
  datatype: 'BYTES',
  shape: [-1],
  itemAxis: 0,
  takes: 'text',
})

function limitOf(name: string, fixed: number, { transform, tokenizer }: TextContext): TextLimit {
  const { maxLength, pair } = transform
  if (fixed > 0 && maxLength !== undefined && maxLength > fixed) {
    throw invalid(name, `the model takes ${fixed} tokens, and max-length says ${maxLength}`)
  }
  const most = maxLength ?? (fixed > 0 ? Math.min(fixed, tokenizer.most ?? fixed) : tokenizer.most)
  const added = tokenizer.added(pair === undefined ? 1 : 2)
  if (most !== undefined && most <= added) {
    const each = pair === undefined ? 'text' : 'pair'
    throw invalid(
      name,
      `max-length is ${most}, and the tokenizer adds ${added} tokens to each ${each}`,
    )
  }
  if (most !== undefined) return { most, cut: cutOf(name, { transform, tokenizer }) }
  throw invalid(
    name,
    'neither the model nor its tokenizer says how many tokens a text may have; set max-length',
  )
}

/** How longer texts are cut; undefined where they are refused. */
function cutOf(name: string, { transform, tokenizer }: TextContext): TextLimit['cut'] {
  const { truncate, pair } = transform
  if (typeof truncate === 'string' && truncate !== 'longest-first' && pair === undefined) {
    throw invalid(
      name,
      `truncate: ${truncate} is about pairs; set pair to the name of the second text, or truncate: true`,
    )
  }
  if (truncate === undefined) return tokenizer.cut
  if (typeof truncate === 'string') return truncate
  return truncate ? (tokenizer.cut ?? 'longest-first') : undefined
}

/** Whole numbers of one datatype, which are written by their index. */
function elementsFor(datatype: TensorSpec['datatype'], count: number) {
  const isNarrow = datatype === 'INT32'
  const bytes = new Uint8Array(count * (isNarrow ? 4 : 8))
  const narrow = new Int32Array(bytes.buffer)
  const set = (index: number, value: number): void => {
    if (isNarrow) narrow[index] = value
    // Ids, masks and types are not negative, so the upper half is zero.
    else narrow[2 * index] = value
  }
  return { set, bytes }
}

const invalid = (input: string, why: string): WeirError =>
  new WeirError('INVALID_ARGUMENT', `transforms: input "${input}": ${why}`)
