import { WeirError } from '../../core/errors.ts'
import type { TokenizerPart } from './tokenizer-kinds.ts'

/** Texts of one item: one, or the two of a pair. */
export type TextCount = 1 | 2

/** A token that the tokenizer adds, such as `[SEP]`; with `text` the place of the tokens of that text instead. */
export type FramePart =
  | { readonly id: number; readonly type: number }
  | { readonly text: 0 | 1; readonly type: number }

/** What a post-processor makes of the tokens of one text or of two. `type` is the type of each token. */
export type Frame = readonly FramePart[]

/** The id of a token. Throws MALFORMED_DATA for one that the vocabulary does not have. */
type IdOf = (token: string) => number

interface FrameContext {
  readonly count: TextCount
  readonly idOf: IdOf
}

/** Post-processors that add no tokens, and leave the types as they are. */
const PLAIN: ReadonlySet<unknown> = new Set(['ByteLevel'])

const FIRST: FramePart = { text: 0, type: 0 }

/**
 * The frame of one text or of a pair, as the post-processor of a tokenizer.json gives it in the library in Rust. Throws
 * UNSUPPORTED for one that puts a text in no place or in two, MALFORMED_DATA for one that cannot be read.
 */
export function frameOf(processor: TokenizerPart | null | undefined, context: FrameContext): Frame {
  const frame = partsOf(processor, context)
  for (let text = 0; text < context.count; text++) {
    if (frame.filter((part) => 'text' in part && part.text === text).length === 1) continue
    throw new WeirError('UNSUPPORTED', `the tokenizer has no one place for ${wordsOf(context)}`)
  }
  return frame
}

/** The number of tokens that a frame adds. */
export const addedOf = (frame: Frame): number => frame.filter((part) => !('text' in part)).length

const wordsOf = ({ count }: FrameContext): string =>
  count === 1 ? 'a text' : 'each text of a pair: its post_processor has no template for pairs'

function partsOf(processor: TokenizerPart | null | undefined, context: FrameContext): Frame {
  const { count } = context
  const type = processor?.type
  if (processor == null || PLAIN.has(type)) return count === 1 ? [FIRST] : [FIRST, second(1)]
  if (type === 'Sequence') return partsOf(framing(processor), context)
  if (type === 'TemplateProcessing') return templateOf(processor, context)
  const [start, end] = [processor['cls'], processor['sep']].map((token) => idOfToken(token))
  const [before, after] = [added(start!, 0), added(end!, 0)]
  if (count === 1) return [before, FIRST, after]
  // RobertaProcessing has one type for all, and a token before the second text, too.
  return type === 'BertProcessing'
    ? [before, FIRST, after, second(1), added(end!, 1)]
    : [before, FIRST, after, after, second(0), after]
}

/** The post-processor of a sequence that adds tokens. Throws UNSUPPORTED for a sequence with several. */
function framing(sequence: TokenizerPart): TokenizerPart | undefined {
  const all = sequence['processors'] as readonly TokenizerPart[]
  const [one, ...others] = all.filter((part) => !PLAIN.has(part.type))
  if (others.length === 0) return one
  const message =
    'the tokenizer has a post_processor Sequence with several parts that add tokens; tokenize in a module, or send the ids'
  throw new WeirError('UNSUPPORTED', message)
}

/** A part of a template, as the file has it. */
interface TemplatePiece {
  readonly Sequence?: { readonly id: unknown; readonly type_id: number }
  readonly SpecialToken?: { readonly id: string; readonly type_id: number }
}

function templateOf(template: TokenizerPart, { count, idOf }: FrameContext): Frame {
  const pieces = template[count === 1 ? 'single' : 'pair']
  const tokens = (template['special_tokens'] ?? {}) as Readonly<
    Record<string, { readonly ids: readonly number[] } | undefined>
  >
  if (!Array.isArray(pieces)) return []
  return (pieces as readonly TemplatePiece[]).flatMap(({ Sequence, SpecialToken }): Frame => {
    if (Sequence !== undefined)
      return [{ text: Sequence.id === 'A' ? 0 : 1, type: Sequence.type_id }]
    if (SpecialToken === undefined) return []
    const { id, type_id: type } = SpecialToken
    return (tokens[id]?.ids ?? [idOf(id)]).map((one) => added(one, type))
  })
}

/** The id of a token of `BertProcessing` and `RobertaProcessing`: a text and its id. */
function idOfToken(token: unknown): number {
  const [, id] = Array.isArray(token) ? (token as readonly unknown[]) : []
  if (typeof id === 'number') return id
  throw new WeirError('MALFORMED_DATA', 'the post_processor has no tokens "cls" and "sep" with ids')
}

const added = (id: number, type: number): FramePart => ({ id, type })
const second = (type: number): FramePart => ({ text: 1, type })
