import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TensorSpec } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import type { TokenizerTransform } from '../../../src/inference/port/transforms.ts'
import { stringsToBytes } from '../../../src/inference/runners/byte-strings.ts'
import { TextInput } from '../../../src/inference/transforms/text.ts'
import { TextTokenizer } from '../../../src/inference/transforms/text-tokenizer.ts'
import { smallTokenizer, WORDS } from './small-tokenizer.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-text-'))
})
afterAll(() => rm(folder, { recursive: true }))

const ids: TensorSpec = { name: 'input_ids', datatype: 'INT64', shape: [-1, -1] }
const mask: TensorSpec = { ...ids, name: 'attention_mask' }
const types: TensorSpec = { ...ids, name: 'token_type_ids' }

let count = 0
async function tokenizerWith(changes = {}, config?: object): Promise<TextTokenizer> {
  const own = join(folder, String(count++))
  await writeFile(`${own}.json`, JSON.stringify(smallTokenizer(changes)))
  if (config !== undefined) {
    await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
  }
  try {
    return await TextTokenizer.open(`${own}.json`)
  } finally {
    await rm(join(folder, 'tokenizer_config.json'), { force: true })
  }
}

interface Given {
  readonly transform?: Partial<TokenizerTransform>
  readonly specs?: readonly TensorSpec[]
  readonly tokenizer?: TextTokenizer
}

async function textInput({ transform = {}, specs = [ids, mask, types], tokenizer }: Given = {}) {
  return new TextInput('text', specs, {
    transform: { file: 'tokenizer.json', ...transform },
    tokenizer: tokenizer ?? (await tokenizerWith()),
  })
}

const texts = (...all: readonly string[]): Tensor => ({
  name: 'text',
  datatype: 'BYTES',
  shape: [all.length],
  data: stringsToBytes(all),
})

/** Whole numbers of 64 bits, row by row. */
function rowsOf({ data, shape }: Tensor): number[][] {
  const all = Array.from(new BigInt64Array(data.slice().buffer), Number)
  return Array.from({ length: shape[0]! }, (_, row) =>
    all.slice(row * shape[1]!, (row + 1) * shape[1]!),
  )
}

async function tensorsOf(given: Given, ...all: readonly string[]): Promise<number[][][]> {
  const input = await textInput(given)
  return input.tensors(input.tokens([texts(...all)])).map(rowsOf)
}

describe('a text', () => {
  it('may have a vocabulary of more words than a call has arguments', async () => {
    const words = [...WORDS, ...Array.from({ length: 200_000 }, (_, i) => `word${i}`)]
    const vocab = Object.fromEntries(words.map((word, id) => [word, id]))
    const { model } = smallTokenizer() as { readonly model: object }
    const tokenizer = await tokenizerWith({ model: { ...model, vocab } })
    expect(tokenizer.largestId).toBe(words.length - 1)
    expect((await tensorsOf({ tokenizer }, 'good word199999'))[0]).toEqual([
      [2, 4, words.length - 1, 3],
    ])
  })

  it('becomes ids, a mask and types, as long as the longest text that it is with', async () => {
    expect(await tensorsOf({}, 'Good FILMS!', 'bad')).toEqual([
      [
        [2, 4, 6, 7, 9, 3],
        [2, 5, 3, 0, 0, 0],
      ],
      [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
      ],
      [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
      ],
    ])
  })

  it('becomes only what the model takes, as 32 bits where it takes those', async () => {
    const input = await textInput({
      specs: [{ ...ids, name: 'x', datatype: 'INT32' }],
      transform: { ids: 'x' },
    })
    expect(input.inputs).toEqual(['x'])
    const [tensor] = input.tensors(input.tokens([texts('good')]))
    expect(tensor).toMatchObject({ name: 'x', datatype: 'INT32', shape: [1, 3] })
    expect([...new Int32Array(tensor!.data.slice().buffer)]).toEqual([2, 4, 3])
  })

  it('is cut where the tokenizer or the settings say so, and otherwise refused', async () => {
    const long = 'good bad film not good'
    expect((await tensorsOf({}, long))[0]).toEqual([[2, 4, 5, 6, 8, 3]])
    expect((await tensorsOf({ transform: { maxLength: 4 } }, long))[0]).toEqual([[2, 4, 5, 3]])
    await expect(tensorsOf({ transform: { truncate: false } }, 'good', long)).rejects.toMatchObject(
      {
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('text 1 has 7 tokens, and the model takes 6'),
      },
    )
    const left = { direction: 'Left', max_length: 4, strategy: 'LongestFirst', stride: 0 }
    const tokenizer = await tokenizerWith({ truncation: left })
    expect((await tensorsOf({ tokenizer }, long))[0]).toEqual([[2, 8, 4, 3]])
  })

  it('is refused before its tokens are made where it is far too long, even if it would be cut', async () => {
    const longest = 'good '.repeat(13_107)
    expect((await tensorsOf({}, longest))[0]).toEqual([[2, 4, 4, 4, 4, 3]])
    await expect(tensorsOf({}, `${longest}good `)).rejects.toThrow(
      'has 65540 characters, and a model that takes 6 tokens takes at most 65536',
    )
  })

  it('may be empty where the tokenizer adds tokens, and is refused where it adds none', async () => {
    expect((await tensorsOf({}, ''))[0]).toEqual([[2, 3]])
    const tokenizer = await tokenizerWith({ post_processor: null })
    await expect(tensorsOf({ tokenizer }, '')).rejects.toThrow('text 0 has no tokens')
  })

  it('is padded to a multiple, to the size of the model, or from the left', async () => {
    expect((await tensorsOf({ transform: { padding: 4 } }, 'good', 'bad film'))[1]).toEqual([
      [1, 1, 1, 0],
      [1, 1, 1, 1],
    ])
    const fixed = [ids, mask].map((spec) => ({ ...spec, shape: [-1, 5] }))
    expect((await tensorsOf({ specs: fixed }, 'good'))[0]).toEqual([[2, 4, 3, 0, 0]])
    const padding = { direction: 'Left', pad_id: 9, pad_type_id: 1 }
    const tokenizer = await tokenizerWith({ padding })
    expect(await tensorsOf({ tokenizer, transform: { padding: 5 } }, 'good')).toEqual([
      [[9, 9, 2, 4, 3]],
      [[0, 0, 1, 1, 1]],
      [[1, 1, 0, 0, 0]],
    ])
  })

  it('has the token of padding and the length of tokenizer_config.json', async () => {
    const config = { pad_token: { content: '!' }, model_max_length: 5 }
    const tokenizer = await tokenizerWith({ padding: null, truncation: null }, config)
    expect((await tensorsOf({ tokenizer, transform: { padding: 4 } }, 'good'))[0]).toEqual([
      [2, 4, 3, 9],
    ])
    await expect(tensorsOf({ tokenizer }, 'good good good good')).rejects.toThrow('6 tokens')
  })

  it('is refused where its bytes are no UTF-8', async () => {
    const input = await textInput()
    const data = Uint8Array.of(2, 0, 0, 0, 0xc3, 0x28)
    expect(() => input.tokens([{ ...texts(''), data }])).toThrow('text 0 is no UTF-8')
  })
})

/** The ids, mask and types of pairs. */
async function pairsOf(
  { transform = {}, ...given }: Given,
  ...pairs: readonly (readonly [string, string])[]
): Promise<number[][][]> {
  const input = await textInput({ ...given, transform: { pair: 'second', ...transform } })
  const columns = [0, 1].map((c) => texts(...pairs.map((pair) => pair[c]!)))
  return input.tensors(input.tokens(columns)).map(rowsOf)
}

describe('a pair of texts', () => {
  it('becomes ids, a mask and types, which tell the two texts apart', async () => {
    const input = await textInput({ transform: { pair: 'second' } })
    expect(input.specs.map(({ name, takes }) => [name, takes])).toEqual([
      ['text', 'text'],
      ['second', 'text'],
    ])
    const transform = { maxLength: 8 }
    expect(await pairsOf({ transform }, ['good film', 'bad'], ['', '!'])).toEqual([
      [
        [2, 4, 6, 3, 5, 3],
        [2, 3, 9, 3, 0, 0],
      ],
      [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 0],
      ],
      [
        [0, 0, 0, 0, 1, 1],
        [0, 0, 1, 1, 0, 0],
      ],
    ])
  })

  it('is cut as the settings or the tokenizer say, and otherwise refused', async () => {
    const pair = ['good good good', 'bad film not'] as const
    const ids = async (given: Given) => (await pairsOf(given, pair))[0]
    // Six tokens, of which three are added.
    expect(await ids({})).toEqual([[2, 4, 3, 5, 6, 3]])
    const cut = (truncate: NonNullable<TokenizerTransform['truncate']>, maxLength = 8) => ({
      transform: { truncate, maxLength },
    })
    expect(await ids(cut('only-first'))).toEqual([[2, 4, 4, 3, 5, 6, 8, 3]])
    expect(await ids(cut('only-second'))).toEqual([[2, 4, 4, 4, 3, 5, 6, 3]])
    const truncation = { direction: 'Left', max_length: 8, strategy: 'OnlySecond', stride: 0 }
    const tokenizer = await tokenizerWith({ truncation })
    expect(await ids({ tokenizer })).toEqual([[2, 4, 4, 4, 3, 6, 8, 3]])
    expect(await ids({ tokenizer, ...cut(true) })).toEqual([[2, 4, 4, 4, 3, 6, 8, 3]])
    await expect(ids(cut('only-second', 6))).rejects.toThrow(
      'pair 0 has 9 tokens, and the model takes 6; only-second cannot cut it so far, because that text is too short; shorten it, or set truncate: longest-first',
    )
    await expect(ids(cut(false))).rejects.toThrow(
      'pair 0 has 9 tokens, and the model takes 8; shorten it, or set truncate: true',
    )
  })

  it('names the text that is wrong', async () => {
    const long = 'good '.repeat(13_108)
    await expect(pairsOf({}, ['good', 'bad'], ['good', long])).rejects.toThrow(
      'the second text of pair 1 has 65540 characters',
    )
    const input = await textInput({ transform: { pair: 'second' } })
    const data = Uint8Array.of(2, 0, 0, 0, 0xc3, 0x28)
    expect(() => input.tokens([texts('good'), { ...texts(''), data }])).toThrow(
      'input "second": text 0 is no UTF-8',
    )
  })
})

describe('a tokenizer is refused', () => {
  it.each([
    [
      'a way to cut pairs without pairs',
      { transform: { truncate: 'only-second' as const } },
      'truncate: only-second is about pairs; set pair',
    ],
    [
      'no room beside the added tokens of a pair',
      { transform: { pair: 'b', maxLength: 3 } },
      'adds 3 tokens to each pair',
    ],
    ['no input for the ids', { specs: [mask] }, 'has no input "input_ids" for ids'],
    [
      'an input that was named and is not there',
      { transform: { mask: 'm' } },
      'no input "m" for mask',
    ],
    ['an input of floats', { specs: [{ ...ids, datatype: 'FP32' as const }] }, 'is FP32 [-1, -1]'],
    [
      'more tokens than the model takes',
      { specs: [{ ...ids, shape: [-1, 4] }], transform: { maxLength: 8 } },
      'takes 4 tokens, and max-length says 8',
    ],
    ['no room beside the added tokens', { transform: { maxLength: 2 } }, 'adds 2 tokens'],
    [
      'padding for a model without a mask',
      { specs: [ids], transform: { padding: 8 } },
      'has no mask',
    ],
  ])('for %s', async (_, given: Given, message) => {
    await expect(textInput(given)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message),
    })
  })

  it('for pairs that it has no template for', async () => {
    const processor = {
      type: 'TemplateProcessing',
      single: [{ Sequence: { id: 'A', type_id: 0 } }],
    }
    const tokenizer = await tokenizerWith({ post_processor: { ...processor, pair: [] } })
    await expect(textInput({ tokenizer, transform: { pair: 'b' } })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('has no template for pairs'),
    })
  })

  it('for a text alone that only the second one of may be cut', async () => {
    const truncation = { max_length: 4, strategy: 'OnlySecond', stride: 0 }
    const tokenizer = await tokenizerWith({ truncation })
    await expect(tensorsOf({ tokenizer }, 'good good good')).rejects.toThrow(
      'text 0 has 5 tokens, and the model takes 4; only-second cannot cut it so far, because there is no second text',
    )
    const unknown = tokenizerWith({ truncation: { ...truncation, strategy: 'Middle' } })
    await expect(unknown).rejects.toThrow('the truncation strategy Middle')
  })

  it('where no one says how long a text may be, or what padding is', async () => {
    const tokenizer = await tokenizerWith({ padding: null, truncation: null })
    await expect(textInput({ tokenizer })).rejects.toThrow('set max-length')
    const transform = { maxLength: 8, padding: 8 }
    await expect(textInput({ tokenizer, transform })).rejects.toThrow('names no token for padding')
  })

  it.each([
    ['a normalizer', { normalizer: { type: 'Nmt' } }, 'normalizer Nmt'],
    [
      'a part of a sequence',
      { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'UnicodeScripts' }] } },
      'pre_tokenizer UnicodeScripts',
    ],
    ['a post-processor', { post_processor: { type: 'Other' } }, 'post_processor Other'],
    ['a model', { model: { type: 'Other' } }, 'model Other'],
    [
      'unknown tokens that are joined',
      { model: { type: 'BPE', vocab: {}, merges: [], unk_token: 'a', fuse_unk: true } },
      'fuse_unk',
    ],
    [
      'tokens by chance',
      { model: { type: 'BPE', vocab: {}, merges: [], dropout: 0.1 } },
      'dropout',
    ],
  ])('for %s that would make other tokens', async (_, changes, message) => {
    await expect(tokenizerWith(changes)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining(message),
    })
  })

  it('where its file is missing, is no JSON, or has no model', async () => {
    await expect(TextTokenizer.open(join(folder, 'none.json'))).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
    })
    await writeFile(join(folder, 'bad.json'), '{"model"')
    await expect(TextTokenizer.open(join(folder, 'bad.json'))).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
    })
    await expect(tokenizerWith({ model: null })).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    await expect(tokenizerWith({ padding: null }, { pad_token: 'none' })).rejects.toThrow(
      'no token "none"',
    )
  })
})
