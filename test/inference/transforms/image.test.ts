import { describe, expect, it } from 'vitest'
import type { TensorSpec } from '../../../src/inference/port/signature.ts'
import type { ImageTransform } from '../../../src/inference/port/transforms.ts'
import { stringsToBytes } from '../../../src/inference/runners/byte-strings.ts'
import { ImageInput, loadDecoder } from '../../../src/inference/transforms/image.ts'

const decoder = await loadDecoder()
const NCHW: TensorSpec = { name: 'x', datatype: 'FP32', shape: [-1, 3, 1, 2] }

/** A PNG of pixels beside each other. */
async function png(...pixels: readonly (readonly [number, number, number])[]): Promise<Uint8Array> {
  const raw = { width: pixels.length, height: 1, channels: 3 } as const
  return await decoder(Uint8Array.from(pixels.flat()), { raw }).png().toBuffer()
}

/** A BYTES tensor of files. */
function tensorOf(...images: readonly Uint8Array[]) {
  const parts = images.flatMap((image) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(image.length)
    return [length, image]
  })
  return {
    name: 'x',
    datatype: 'BYTES' as const,
    shape: [images.length],
    data: new Uint8Array(Buffer.concat(parts)),
  }
}

async function floatsOf(transform: ImageTransform, spec = NCHW): Promise<number[]> {
  const input = new ImageInput(spec, transform, decoder)
  const { data } = await input.apply(tensorOf(await png([255, 0, 51], [0, 102, 255])))
  return [...new Float32Array(data.buffer)].map((value) => Math.round(value * 1000) / 1000)
}

describe('an encoded image', () => {
  it('becomes floats from 0 to 1, channel after channel, or pixel after pixel', async () => {
    expect(await floatsOf({})).toEqual([1, 0, 0, 0.4, 0.2, 1])
    const nhwc = { ...NCHW, shape: [-1, 1, 2, 3] }
    expect(await floatsOf({}, nhwc)).toEqual([1, 0, 0.2, 0, 0.4, 1])
    expect(await floatsOf({ channels: 'bgr' })).toEqual([0.2, 1, 0, 0.4, 1, 0])
  })

  it('is normalised by scale, mean and std in this order', async () => {
    const floats = await floatsOf({ scale: 1, mean: [55, 0, 51], std: [100, 2, 1] })
    expect(floats).toEqual([2, -0.55, 0, 51, 0, 204])
  })

  it('has the size of the model, and is in a batch with others', async () => {
    const input = new ImageInput(NCHW, { fit: 'fill' }, decoder)
    const wide = await png([10, 20, 30], [10, 20, 30], [10, 20, 30], [10, 20, 30])
    const { shape, data } = await input.apply(tensorOf(wide, await png([1, 2, 3], [1, 2, 3])))
    expect(shape).toEqual([2, 3, 1, 2])
    const bytes = [...new Float32Array(data.buffer)].map((value) => Math.round(value * 255))
    expect(bytes).toEqual([10, 10, 20, 20, 30, 30, 1, 1, 2, 2, 3, 3])
  })

  it('becomes bytes for a model of bytes', async () => {
    const input = new ImageInput({ ...NCHW, datatype: 'UINT8' }, {}, decoder)
    const { data, datatype } = await input.apply(tensorOf(await png([255, 0, 51], [0, 102, 254])))
    expect([datatype, ...data]).toEqual(['UINT8', 255, 0, 0, 102, 51, 254])
  })

  it('is refused when it is none, and by a model that takes none', async () => {
    const input = new ImageInput(NCHW, {}, decoder)
    await expect(
      input.apply({ ...tensorOf(), shape: [1], data: stringsToBytes(['no image']) }),
    ).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('image 0'),
    })
    const cut = (await png([1, 2, 3], [1, 2, 3])).slice(0, 40)
    await expect(input.apply(tensorOf(cut))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const refused: readonly (readonly [Partial<TensorSpec>, ImageTransform, string])[] = [
      [{ shape: [-1, 8] }, {}, 'four dimensions'],
      [{ shape: [-1, -1, -1, -1] }, { size: [4, 4] }, 'set layout'],
      [{ shape: [-1, 3, -1, -1] }, {}, 'set size'],
      [{}, { size: [4, 4] }, 'the model takes 2 pixels, and size says 4'],
      [{ datatype: 'INT64' }, {}, 'FP32 or UINT8'],
    ]
    for (const [spec, transform, sentence] of refused) {
      expect(() => new ImageInput({ ...NCHW, ...spec }, transform, decoder)).toThrow(sentence)
    }
  })
})
