import { WeirError } from '../../core/errors.ts'

/*
 * What a tokenizer.json says, so that the package @huggingface/tokenizers makes the tokens of the library in Rust, which is
 * what models were trained with. The two differ in what `\s` and `\w` mean, in the case of a last sigma, and in Chinese
 * characters of two UTF-16 units: those parts are written in a form that both read alike. A part for which there is no such
 * form is refused. `test/system/inference/states/tokenizer-tokens.test.ts` compares the two.
 */

/** A part of a tokenizer.json; `type` names its kind. */
export type TokenizerPart = Readonly<Record<string, unknown>> & { readonly type?: unknown }

/** The parts of a tokenizer.json that decide its tokens. */
export interface TokenizerJson {
  readonly normalizer?: TokenizerPart | null
  readonly pre_tokenizer?: TokenizerPart | null
  readonly post_processor?: TokenizerPart | null
  readonly model: TokenizerPart
  readonly added_tokens?: readonly TokenizerPart[]
  readonly padding?: TokenizerPart | null
  readonly truncation?: TokenizerPart | null
}

/** The words of GPT-2, which `ByteLevel` splits at. */
const WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/** Blocks of Chinese characters outside the first plane that BERT puts spaces around. */
const FAR_CHINESE =
  '[\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}\\x{2B740}-\\x{2B81F}\\x{2B920}-\\x{2CEAF}\\x{2F800}-\\x{2FA1F}]'
/** What `\w` is in Rust, for a class. */
const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}'

const replace = (regex: string, content: string): TokenizerPart => ({
  type: 'Replace',
  pattern: { Regex: regex },
  content,
})
const split = (regex: string, isMatch: boolean): TokenizerPart => ({
  type: 'Split',
  pattern: { Regex: regex },
  behavior: isMatch ? 'Removed' : 'Isolated',
  invert: isMatch,
})
const SMALL_SIGMA: TokenizerPart = { type: 'Replace', pattern: { String: 'Σ' }, content: 'σ' }

type Rewrite = (part: TokenizerPart) => readonly TokenizerPart[]
type Kinds = Readonly<Record<string, Rewrite>>

const same: Rewrite = (part) => [part]

const NORMALIZERS: Kinds = {
  BertNormalizer: (part) => [
    ...(part['handle_chinese_chars'] === true ? [replace(FAR_CHINESE, ' $& ')] : []),
    ...(part['lowercase'] === true ? [SMALL_SIGMA] : []),
    part,
  ],
  Lowercase: (part) => [SMALL_SIGMA, part],
  NFC: same,
  NFD: same,
  NFKC: same,
  NFKD: same,
  // `useCharacterMaps` makes it right.
  Precompiled: same,
  Prepend: same,
  // A `$` in what is put in would name a part of the match.
  Replace: (part) => [{ ...part, content: String(part['content'] ?? '').replaceAll('$', '$$$$') }],
  Sequence: (part) => rewritten(part['normalizers'], NORMALIZERS, 'normalizer'),
  Strip: (part) => [
    ...(part['strip_left'] === true ? [replace('\\A\\s+', '')] : []),
    ...(part['strip_right'] === true ? [replace('\\s+\\z', '')] : []),
  ],
  // Marks of all kinds; BertNormalizer takes away those alone that have no width.
  StripAccents: () => [replace('\\p{M}', '')],
}

const PRE_TOKENIZERS: Kinds = {
  BertPreTokenizer: same,
  ByteLevel: (part) => [
    ...(part['add_prefix_space'] === false
      ? []
      : [{ type: 'Metaspace', replacement: ' ', str_rep: ' ', prepend_scheme: 'always' }]),
    ...(part['use_regex'] === false ? [] : [split(WORDS, false)]),
    { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
  ],
  Digits: (part) => [split(part['individual_digits'] === true ? '\\p{N}' : '\\p{N}+', false)],
  Metaspace: (part) => {
    const mark = String(part['replacement'] ?? '▁')
    return part['split'] === false ? [part] : [part, split(`${mark}[^${mark}]*|[^${mark}]+`, true)]
  },
  Sequence: (part) => rewritten(part['pretokenizers'], PRE_TOKENIZERS, 'pre_tokenizer'),
  Split: (part) => {
    const { behavior, invert } = part
    const isMatch = behavior === 'Removed' && invert === true
    const isKnown =
      isMatch || (invert !== true && (behavior === 'Removed' || behavior === 'Isolated'))
    if (isKnown) return [part]
    throw refused(
      `pre_tokenizer Split with behavior ${String(behavior)} and invert ${String(invert)}`,
    )
  },
  Whitespace: () => [split(`[${WORD}]+|[^${WORD}\\s]+`, true)],
  WhitespaceSplit: () => [split('\\S+', true)],
}

const POST_PROCESSORS: Kinds = {
  BertProcessing: same,
  ByteLevel: same,
  RobertaProcessing: same,
  Sequence: (part) => {
    rewritten(part['processors'], POST_PROCESSORS, 'post_processor')
    return [part]
  },
  TemplateProcessing: same,
}

/** The file with its parts as the package reads them right. Throws UNSUPPORTED for a part that it does not read right. */
export function readableTokenizer(file: TokenizerJson): TokenizerJson {
  const { normalizer, pre_tokenizer: before, post_processor: after, model } = file
  requireModel(model)
  const single = file.added_tokens?.find((token) => token['single_word'] === true)
  if (single !== undefined)
    throw refused(`added token ${String(single['content'])} with single_word`)
  if (after) rewritten([after], POST_PROCESSORS, 'post_processor')
  const normalizers = normalizer ? rewritten([normalizer], NORMALIZERS, 'normalizer') : []
  const preTokenizers = before ? rewritten([before], PRE_TOKENIZERS, 'pre_tokenizer') : []
  return {
    ...file,
    normalizer: normalizers.length === 0 ? null : { type: 'Sequence', normalizers },
    pre_tokenizer:
      preTokenizers.length === 0 ? null : { type: 'Sequence', pretokenizers: preTokenizers },
    post_processor: after ?? null,
    model: { ...model, type: kindOfModel(model) },
  }
}

function rewritten(parts: unknown, kinds: Kinds, what: string): TokenizerPart[] {
  if (!Array.isArray(parts)) throw refused(`${what} without parts`)
  return (parts as readonly TokenizerPart[]).flatMap((part) => {
    const kind = String(part.type)
    if (!Object.hasOwn(kinds, kind)) throw refused(`${what} ${kind}`)
    return kinds[kind]!(part)
  })
}

/** The kind of a model; files of old releases leave it out. */
export function kindOfModel(model: TokenizerPart): string {
  if (typeof model.type === 'string') return model.type
  if (Array.isArray(model['vocab'])) return 'Unigram'
  if (model['merges'] !== undefined) return 'BPE'
  return model['continuing_subword_prefix'] === undefined ? 'WordLevel' : 'WordPiece'
}

function requireModel(model: TokenizerPart): void {
  const kind = kindOfModel(model)
  if (!['WordPiece', 'BPE', 'Unigram', 'WordLevel'].includes(kind)) throw refused(`model ${kind}`)
  const has = (name: string): boolean =>
    model[name] !== undefined && model[name] !== null && model[name] !== false && model[name] !== ''
  if (kind === 'Unigram' && has('byte_fallback')) throw refused('model Unigram with byte_fallback')
  if (kind !== 'BPE') return
  if (has('dropout')) throw refused('model BPE with dropout')
  if (has('continuing_subword_prefix')) throw refused('model BPE with continuing_subword_prefix')
  if (has('fuse_unk') && has('unk_token') && !has('byte_fallback')) {
    throw refused('model BPE with fuse_unk')
  }
}

const refused = (what: string): WeirError =>
  new WeirError(
    'UNSUPPORTED',
    `the tokenizer has the ${what}, for which the package @huggingface/tokenizers makes other tokens than the library that models are trained with, or none; tokenize in a module, or send the ids`,
  )
