import type Sharp from 'sharp'
import { messageOf, WeirError } from '../../core/errors.ts'
import type { TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { ImageTransform } from '../port/transforms.ts'
import { elementsOfBytes } from '../runners/byte-strings.ts'

type Decoder = typeof Sharp

/** Most pixels of an image that is decoded: a small file may claim to be huge. */
const MOST_PIXELS = 64 * 2 ** 20
const CHANNELS = 3

/** Decoder of images. Throws MODEL_FAILED when it is not installed. */
export async function loadDecoder(): Promise<Decoder> {
  try {
    return (await import('sharp')).default
  } catch (cause) {
    const message = `images need the package sharp: run \`npm install sharp\` (${messageOf(cause)})`
    throw new WeirError('MODEL_FAILED', message, { cause })
  }
}

/** Encoded images as one input of a model. */
export class ImageInput {
  /** What takes the place of the input: one encoded image an item. */
  readonly spec: TensorSpec
  private readonly decoder: Decoder
  private readonly input: TensorSpec
  private readonly transform: ImageTransform
  private readonly layout: 'nchw' | 'nhwc'
  private readonly width: number
  private readonly height: number

  /** Throws INVALID_ARGUMENT for an input that takes no images. */
  constructor(input: TensorSpec, transform: ImageTransform, decoder: Decoder) {
    const { name, datatype, shape } = input
    this.decoder = decoder
    this.input = input
    this.transform = transform
    this.layout = layoutOf(input, transform)
    const [height, width] = this.layout === 'nchw' ? shape.slice(2) : shape.slice(1, 3)
    const [wantedWidth = -1, wantedHeight = -1] = transform.size ?? []
    this.width = sizeOf(name, width!, wantedWidth)
    this.height = sizeOf(name, height!, wantedHeight)
    if (datatype !== 'FP32' && datatype !== 'UINT8') {
      throw invalid(name, `an image becomes FP32 or UINT8, not ${datatype}`)
    }
    this.spec = { name, datatype: 'BYTES', shape: [shape[0]!], itemAxis: 0, takes: 'image' }
  }

  /** The pixels of each image. Throws INVALID_ARGUMENT for what is no image. */
  async apply({ name, data }: Tensor): Promise<Tensor> {
    // The decoder has threads of its own, and the bytes are of a queue that others write to.
    const images = elementsOfBytes(data).map((image) => Uint8Array.from(image))
    const pixels = await Promise.all(images.map((image, i) => this.pixelsOf(image, i)))
    const { width, height, layout } = this
    const one = layout === 'nchw' ? [CHANNELS, height, width] : [height, width, CHANNELS]
    const { datatype } = this.input
    return { name, datatype, shape: [images.length, ...one], data: this.elementsOf(pixels) }
  }

  private async pixelsOf(image: Uint8Array, index: number): Promise<Uint8Array> {
    const { width, height, transform } = this
    try {
      return await this.decoder(image, { limitInputPixels: MOST_PIXELS })
        .rotate()
        .resize(width, height, { fit: transform.fit ?? 'cover', background: '#000000' })
        .flatten({ background: '#000000' })
        .toColourspace('srgb')
        .raw()
        .toBuffer()
    } catch (cause) {
      const message = `input "${this.input.name}": image ${index} cannot be decoded: ${messageOf(cause)}`
      throw new WeirError('INVALID_ARGUMENT', message, { cause })
    }
  }

  private elementsOf(images: readonly Uint8Array[]): Uint8Array {
    const isBytes = this.input.datatype === 'UINT8'
    const plane = this.width * this.height
    const length = images.length * plane * CHANNELS
    const elements = isBytes ? new Uint8Array(length) : new Float32Array(length)
    const [step, ofChannel] = this.layout === 'nchw' ? [1, plane] : [CHANNELS, 1]
    for (let c = 0; c < CHANNELS; c++) {
      const from = this.transform.channels === 'bgr' ? CHANNELS - 1 - c : c
      const elementOf = this.elementsOfPixels(c)
      images.forEach((pixels, i) => {
        let at = i * plane * CHANNELS + c * ofChannel
        for (let p = from; p < plane * CHANNELS; p += CHANNELS, at += step) {
          elements[at] = elementOf[pixels[p]!]!
        }
      })
    }
    return isBytes ? (elements as Uint8Array) : new Uint8Array(elements.buffer)
  }

  /** What each value of a pixel becomes in a channel: looked up, because a division for each pixel takes longer. */
  private elementsOfPixels(channel: number): Float64Array {
    const isBytes = this.input.datatype === 'UINT8'
    const { scale = isBytes ? 1 : 1 / 255, mean = [], std = [] } = this.transform
    const [less = 0, by = 1] = [mean[channel], std[channel]]
    return Float64Array.from({ length: 256 }, (_, pixel) => (pixel * scale - less) / by)
  }
}

function layoutOf({ name, shape }: TensorSpec, { layout }: ImageTransform): 'nchw' | 'nhwc' {
  if (shape.length === 4) {
    if (layout !== undefined) return layout
    if (shape[1] === CHANNELS && shape[3] !== CHANNELS) return 'nchw'
    if (shape[3] === CHANNELS && shape[1] !== CHANNELS) return 'nhwc'
  }
  throw invalid(
    name,
    shape.length === 4
      ? `the shape [${shape.join(', ')}] does not say where the channels are; set layout: nchw or nhwc`
      : `an image becomes a tensor of four dimensions, not [${shape.join(', ')}]`,
  )
}

function sizeOf(name: string, own: number, wanted: number): number {
  if (own === -1 && wanted === -1) throw invalid(name, 'the model takes any size; set size')
  if (own !== -1 && wanted !== -1 && own !== wanted) {
    throw invalid(name, `the model takes ${own} pixels, and size says ${wanted}`)
  }
  return own === -1 ? wanted : own
}

const invalid = (input: string, why: string): WeirError =>
  new WeirError('INVALID_ARGUMENT', `transforms: input "${input}": ${why}`)
