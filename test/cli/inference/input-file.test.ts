import { describe, expect, it } from 'vitest'
import { plainInputs } from '../../../src/cli/inference/input-file.ts'
import { stringsOfBytes } from '../../../src/inference/runners/byte-strings.ts'
import type { TensorSignature } from '../../../src/wire/inference/models.ts'

const text = (name: string): TensorSignature => ({
  name,
  datatype: 'BYTES',
  shape: [-1],
  takes: 'text',
})

const shown = async (words: readonly string[], ...signature: readonly TensorSignature[]) =>
  (await plainInputs(words, signature)).map(({ name, shape, data }) => [
    name,
    shape,
    stringsOfBytes(data, name),
  ])

describe('words of the command line', () => {
  it('are an item each for a model that takes texts', async () => {
    expect(await shown(['a', 'b'], text('text'))).toEqual([['text', [2], ['a', 'b']]])
  })

  it('are two for each item of a model that takes pairs', async () => {
    expect(await shown(['q', 'one', 'q', 'two'], text('query'), text('passage'))).toEqual([
      ['query', [2], ['q', 'q']],
      ['passage', [2], ['one', 'two']],
    ])
    await expect(plainInputs(['q', 'one', 'q'], [text('query'), text('passage')])).rejects.toThrow(
      'the model takes 2 texts for each item (query and passage), and 3 were given',
    )
  })

  it('are refused by a model that takes anything else', async () => {
    const floats: TensorSignature = { name: 'x', datatype: 'FP32', shape: [-1, 2] }
    const image: TensorSignature = { ...text('image'), takes: 'image' }
    for (const signature of [[], [floats], [text('text'), floats], [text('text'), image]]) {
      await expect(plainInputs(['a', 'b'], signature)).rejects.toMatchObject({
        code: 'SIGNATURE_MISMATCH',
        message: expect.stringContaining('takes no files or texts as they are'),
      })
    }
  })
})
