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

/** What happens before and after a model runs, by input and output. */
export interface Transforms {
  readonly images?: Readonly<Record<string, ImageTransform>>
  readonly labels?: Readonly<Record<string, LabelsTransform>>
}
