/** How an encoded image (JPEG, PNG, WebP, ...) becomes an input of floats or bytes. */
export interface ImageTransform {
  /** Width and height, pixels. @default those of the model's input */
  readonly size?: readonly [width: number, height: number]
  /** What is done with an image of another form: `cover` cuts, `contain` adds black edges, `fill` stretches. @default 'cover' */
  readonly fit?: 'cover' | 'contain' | 'fill'
  /** @default the one of the two whose place of the three channels the model's input has */
  readonly layout?: 'nchw' | 'nhwc'
  /** @default 'rgb' */
  readonly channels?: 'rgb' | 'bgr'
  /** Factor of the values from 0 to 255, before `mean` and `std`. @default 1 / 255; 1 for an input of bytes */
  readonly scale?: number
  /** What is subtracted from each channel, after `scale`. @default 0 */
  readonly mean?: readonly number[]
  /** What each channel is divided by, after `mean`. @default 1 */
  readonly std?: readonly number[]
}

/** How an output of scores, `[items, classes]`, becomes the best classes with their names. */
export interface LabelsTransform {
  /** File of the version with a label a line, in the order of the classes. */
  readonly file: string
  /** Classes that are answered. @default 5, or all where there are fewer */
  readonly top?: number
  /** The scores are made probabilities first. @default false */
  readonly softmax?: boolean
}

/** Which text of a pair is cut where the two are too long: the longer one, or always the same one. */
export const TRUNCATIONS = ['longest-first', 'only-first', 'only-second'] as const

/** One of the ways to cut; a single text is the first one. */
export type Truncation = (typeof TRUNCATIONS)[number]

/**
 * How texts, or pairs of texts, become the tokens of a model. What the file of the tokenizer says holds where a setting is
 * left out: its `truncation`, and the token of its `padding`.
 */
export interface TokenizerTransform {
  /** File of the version, as Hugging Face's libraries store it; `tokenizer_config.json` beside it is read, too. */
  readonly file: string
  /** Input of the model that takes the ids. @default the transform's name if the model has it, otherwise input_ids */
  readonly ids?: string
  /** Input that takes 1 for a token and 0 for padding. @default attention_mask, where the model has it */
  readonly mask?: string
  /** Input that takes the types of the tokens. @default token_type_ids, where the model has it */
  readonly types?: string
  /** Name of the input that takes the second text of each item, as cross-encoders have it. @default texts are no pairs */
  readonly pair?: string
  /**
   * Most tokens of a text, or of the two of a pair, with those that the tokenizer adds. @default what the model's input or
   * the tokenizer says
   */
  readonly maxLength?: number
  /** A longer text is cut, a pair in this way; otherwise it is refused. @default as the tokenizer says */
  readonly truncate?: boolean | Truncation
  /**
   * Each text is padded until its length is a multiple of this number; `longest`: to the longest text of its request, and
   * requests share no run. @default 1
   */
  readonly padding?: number | 'longest'
}

/** How objects of JSON become the inputs of a model, a field an input, and its outputs objects. */
export interface JsonTransform {
  /** Inputs whose elements are fields of their own, in their order. @default a field an input */
  readonly columns: Readonly<Record<string, readonly string[]>>
}

/** What happens before and after a model runs, by input and output. */
export interface Transforms {
  readonly images?: Readonly<Record<string, ImageTransform>>
  /** By the name of the input that takes the texts. */
  readonly tokenizers?: Readonly<Record<string, TokenizerTransform>>
  readonly labels?: Readonly<Record<string, LabelsTransform>>
  /** The model takes and gives objects. @default tensors */
  readonly json?: JsonTransform
}
