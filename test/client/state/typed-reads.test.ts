import { describe, expect, it } from 'vitest'
import { type EntriesOptions, StateReads } from '../../../src/client/state/typed-reads.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { bytesOfKeyText, keyText } from '../../../src/core/formats/key-text.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { PlainKey } from '../../../src/core/formats/plain-key.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { ScanEntry } from '../../../src/wire/model-reader.ts'
import type { KnownState } from '../../../src/wire/state/formats.ts'

const encoded = (value: unknown): Uint8Array => {
  const writer = new ByteWriter()
  msgpackSerializer<unknown>().write(value, writer)
  return writer.toBytes()
}

const bytesOf = (key: PlainKey): Uint8Array => bytesOfKeyText(keyText(key))

/** A server with a state of these keys, whose values are their places; it answers with three entries at a time. */
class FakeServer {
  readonly pages: number[] = []
  readonly reads: StateReads
  readonly sorted: readonly PlainKey[]
  private isFirstTable = true

  constructor(keys: readonly PlainKey[], state: Partial<KnownState> = {}) {
    this.sorted = keys.toSorted((a, b) => Buffer.compare(bytesOf(a), bytesOf(b)))
    const info = {
      name: 'S',
      kind: 'value',
      keyFormat: 'key/1',
      valueFormat: 'msgpack/1',
      ...state,
    }
    this.reads = new StateReads({
      states: () => (this.isFirstTable ? [] : [info]),
      refresh: async () => {
        this.isFirstTable = false
      },
      rows: async () => [],
      values: async () => [],
      page: async (_state, { from, to, limit }) => {
        const [first, end] = [bytesOfKeyText(from), bytesOfKeyText(to)]
        const all = this.sorted.flatMap((key, place): ScanEntry[] => {
          const isIn =
            Buffer.compare(bytesOf(key), first) >= 0 && Buffer.compare(bytesOf(key), end) < 0
          return isIn ? [{ key: keyText(key), value: encoded(place) }] : []
        })
        const entries = all.slice(0, Math.min(3, limit))
        this.pages.push(limit)
        return { entries, next: all[entries.length]?.key }
      },
    })
  }

  async keys(options: EntriesOptions): Promise<PlainKey[]> {
    const found: PlainKey[] = []
    for await (const { key, value } of this.reads.entries<PlainKey, number>('S', options)) {
      expect(this.sorted[value]).toEqual(key)
      found.push(key)
    }
    return found
  }
}

const TEXTS: readonly PlainKey[] = ['', 'a', 'ab', 'abc', 'ac', 'b', 'é', 'éa', 'ü', '\u{10fffe}x']
const NUMBERS: readonly PlainKey[] = [-7, -0.5, 0, 1, 2.5, 255, 256, 1e9]
const TUPLES: readonly PlainKey[] = TEXTS.flatMap((text) => [0, 255, 256, -1].map((n) => [text, n]))

describe('entries', () => {
  it('of a tuple as prefix are those of tuples with these first elements, in order and once', async () => {
    const server = new FakeServer([...TEXTS, ...NUMBERS, ...TUPLES, true, 5n])
    for (const text of TEXTS) {
      expect(await server.keys({ prefix: [text] }), String(text)).toEqual(
        [-1, 0, 255, 256].map((n) => [text, n]),
      )
      expect(await server.keys({ prefix: [text, 255] })).toEqual([[text, 255]])
    }
    expect(await server.keys({ prefix: [] })).toEqual(server.sorted.filter(Array.isArray))
    expect(await server.keys({ prefix: ['z'] })).toEqual([])
  })

  it('of a text as prefix are those of texts that start with it, and of no other type', async () => {
    const server = new FakeServer([...TEXTS, ...NUMBERS, ...TUPLES])
    for (const prefix of ['', 'a', 'ab', 'é', '\u{10fffe}', 'x']) {
      const wanted = TEXTS.filter((text) => (text as string).startsWith(prefix))
      expect(await server.keys({ prefix }), prefix).toEqual(
        wanted.toSorted((a, b) => Buffer.compare(bytesOf(a), bytesOf(b))),
      )
    }
  })

  it('of a range are those from its first key to before its end, where a prefix narrows it', async () => {
    const keys = [...TEXTS, ...NUMBERS, ...TUPLES]
    const server = new FakeServer(keys)
    const random = seededRandom(3)
    const one = (): PlainKey => keys[random.below(keys.length)]!
    for (let round = 0; round < 200; round++) {
      const [from, to] = [one(), one()]
      const limit = random.below(8)
      const isPrefixed = random.below(2) === 0
      const wanted = server.sorted.filter(
        (key) =>
          // The empty text and U+10FFFF are no bounds.
          Buffer.compare(bytesOf(key), bytesOf(from)) >= 0 &&
          Buffer.compare(bytesOf(key), bytesOf(to)) < 0 &&
          (!isPrefixed || (Array.isArray(key) && key[0] === 'a')),
      )
      const found = await server.keys({ from, to, limit, ...(isPrefixed ? { prefix: ['a'] } : {}) })
      expect(found).toEqual(wanted.slice(0, limit))
    }
  })

  it('are read as the caller goes on, and no page more than the limit needs', async () => {
    const server = new FakeServer(NUMBERS)
    for await (const { key } of server.reads.entries('S', {})) if (key === 0) break
    expect(server.pages).toEqual([1000])
    expect(await server.keys({ limit: 4 })).toEqual([-7, -0.5, 0, 1])
    expect(server.pages).toEqual([1000, 4, 1])
  })

  it.each([
    [{ keys: 'window' }, { prefix: 'a' }, /"S" are numbers, which have no prefix/],
    [{ keyFormat: 'string/1' }, { prefix: ['a'] }, /"S" are texts, which no tuple/],
    [{ keyFormat: 'string/1' }, { from: 5 }, /"S" are texts, and 5 is none: ask for the text "5"/],
    [{ kind: 'map', mapKeyFormat: 'own/1' }, {}, /the keys in the maps of "S".*mapKeySerializer/],
    [{}, { limit: -1 }, /limit must be/],
    [{}, { prefix: 5 as never }, /prefix must be a text, or a tuple/],
  ] as const)('of a state %o are refused for %o', async (state, options, message) => {
    const server = new FakeServer(NUMBERS, state)
    await expect(server.keys(options)).rejects.toThrow(message)
    expect(server.pages).toEqual([])
  })
})
