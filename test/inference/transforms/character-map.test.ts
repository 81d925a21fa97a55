import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CharacterMap } from '../../../src/inference/transforms/character-map.ts'
import { TextTokenizer } from '../../../src/inference/transforms/text-tokenizer.ts'
import { smallTokenizer } from './small-tokenizer.ts'

/*
 * Maps of one entry, written by hand. `test/system/inference/states/tokenizer-tokens.test.ts` has those of SentencePiece, beside the
 * library in Rust.
 */

const ROOT = 0x100

/** A map in which one byte of ASCII becomes a text. */
function mapOf(character: string, text: string): string {
  const byte = character.charCodeAt(0)
  const node = ROOT ^ byte
  const units = new Uint32Array(0x200)
  units[0] = ROOT << 10
  // Its label, that it has a leaf, and how far away that is.
  units[node] = (1 << 10) | (1 << 8) | byte
  units[node ^ 1] = 0x80000000
  const array = Buffer.from(units.buffer)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(array.length)
  return Buffer.concat([length, array, Buffer.from(`${text}\0other\0`)]).toString('base64')
}

describe('a map of characters', () => {
  it('has a text for some characters, and leaves the others', () => {
    const map = CharacterMap.of(mapOf('A', 'äh'))
    expect(map.normalize('ABA')).toBe('ähBäh')
    expect(map.normalize('漢A😀')).toBe('漢äh😀')
    expect(map.normalize('')).toBe('')
    expect(map.normalize('\0A')).toBe('\0äh')
  })

  it('takes a short group of characters for the first of them, as the library in Rust does', () => {
    const map = CharacterMap.of(mapOf('A', 'a'))
    expect(map.normalize('A\u0301')).toBe('a')
    expect(map.normalize('A\u0301\u0302\u0303')).toBe('a\u0301\u0302\u0303')
  })

  it('may take a character away', () => {
    expect(CharacterMap.of(mapOf('\r', '')).normalize('a\r\nb')).toBe('ab')
  })

  it.each(['', '!', 'AAAA', 'BAAAAA==', Buffer.alloc(7, 1).toString('base64'), undefined])(
    'is refused where it is none: %s',
    (base64) => {
      expect(() => CharacterMap.of(base64)).toThrow('has no map of characters')
    },
  )
})

describe('a tokenizer with a map of characters', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-map-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const open = async (changes: Record<string, unknown>): Promise<TextTokenizer> => {
    const file = join(folder, 'tokenizer.json')
    await writeFile(file, JSON.stringify(smallTokenizer(changes)))
    return await TextTokenizer.open(file)
  }
  const map = (from: string, to: string) => ({
    type: 'Precompiled',
    precompiled_charsmap: mapOf(from, to),
  })
  const limit = { most: Number.POSITIVE_INFINITY }

  it('goes by the map, by itself and in a sequence', async () => {
    const { ids } = (await open({})).encode(['good film'], limit, 0)
    expect(ids).toEqual([2, 4, 6, 3])
    for (const normalizer of [
      map('Q', 'g'),
      { type: 'Sequence', normalizers: [{ type: 'NFC' }, map('Q', 'g')] },
    ]) {
      expect((await open({ normalizer })).encode(['Qood film'], limit, 0).ids).toEqual(ids)
    }
  })

  it('is refused where the map is none, or changes an added token', async () => {
    const normalizer = { type: 'Precompiled', precompiled_charsmap: null }
    await expect(open({ normalizer })).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    const added = { id: 0, content: 'Q', special: false, normalized: true }
    const changes = { normalizer: map('Q', 'c'), added_tokens: [added] }
    await expect(open(changes)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('the added token "Q", which its normalizer changes'),
    })
  })

  it('refuses a text that is an added token only after it is normalised', async () => {
    const added = { id: 0, content: '<c>', special: true, normalized: false }
    const tokenizer = await open({ normalizer: map('Q', '<c>'), added_tokens: [added] })
    expect(tokenizer.encode(['good <c>'], limit, 0).ids).toContain(0)
    expect(() => tokenizer.encode(['Q'], limit, 3)).toThrow(
      'text 3 has the token <c> of the tokenizer in another writing',
    )
  })
})
