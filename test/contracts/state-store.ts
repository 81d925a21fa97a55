import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isWeirError } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import type { StateStore, StoreChange } from '../../src/state/store/state-store.ts'

const text = (value: string): Uint8Array => new TextEncoder().encode(value)
const show = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : new TextDecoder().decode(bytes)
const put = (key: string, value: string): StoreChange => ({ key: text(key), value: text(value) })
const del = (key: string): StoreChange => ({ key: text(key), value: undefined })
const rows = (store: StateStore, from: string, to: string): string[] =>
  [...store.scan(text(from), text(to))].map(([key, value]) => `${show(key)}=${show(value)}`)

/** Contract of every `StateStore`. `open` returns an empty one. */
export function stateStoreContract(name: string, open: () => Promise<StateStore>): void {
  describe(`${name} as a state store`, () => {
    let store: StateStore

    beforeEach(async () => {
      store = await open()
    })

    afterEach(() => store.close())

    it('is empty at first', () => {
      expect(store.get(text('a'))).toBeUndefined()
      expect(rows(store, '', 'z')).toEqual([])
    })

    it('returns entries that were put, and not those that were deleted', () => {
      store.apply([put('a', '1'), put('b', '2')])
      store.apply([del('a'), put('b', '3')])
      expect(show(store.get(text('a')))).toBeUndefined()
      expect(show(store.get(text('b')))).toBe('3')
    })

    it('answers getMany in the order of the keys, including repeated and missing ones', () => {
      store.apply([put('a', '1'), put('b', '2')])
      const values = store.getMany([text('b'), text('x'), text('a'), text('b')])
      expect(values.map(show)).toEqual(['2', undefined, '1', '2'])
      expect(store.getMany([])).toEqual([])
    })

    it('applies the last change of a key in a batch', () => {
      store.apply([put('a', '1'), del('a'), put('b', '1'), put('b', '2'), del('c')])
      expect(store.get(text('a'))).toBeUndefined()
      expect(show(store.get(text('b')))).toBe('2')
      store.apply([])
      expect(rows(store, '', 'z')).toEqual(['b=2'])
    })

    it('scans from inclusive to exclusive in order of unsigned bytes', () => {
      const keys = [[0x80], [0x7f], [0xff], [0x00], [0x7f, 0x00], [0x01, 0xff], [0x01]]
      store.apply(keys.map((key) => ({ key: Uint8Array.from(key), value: text('v') })))
      const scanned = [...store.scan(Uint8Array.of(0x01), Uint8Array.of(0xff))]
      const found = scanned.map(([key]) => [...key])
      expect(found).toEqual([[0x01], [0x01, 0xff], [0x7f], [0x7f, 0x00], [0x80]])
    })

    it('returns an empty scan for an empty or inverted range', () => {
      store.apply([put('a', '1'), put('b', '2')])
      expect(rows(store, 'a', 'a')).toEqual([])
      expect(rows(store, 'b', 'a')).toEqual([])
      expect(rows(store, '', '')).toEqual([])
    })

    it('shows a scan the entries from the time of its start', () => {
      store.apply([put('a', '1'), put('b', '2'), put('c', '3')])
      const scan = store.scan(text(''), text('z'))
      store.apply([put('a', 'x'), del('b'), put('bb', 'new'), put('d', 'new')])
      const seen = [...scan].map(([key, value]) => `${show(key)}=${show(value)}`)
      expect(seen).toEqual(['a=1', 'b=2', 'c=3'])
      expect(rows(store, '', 'z')).toEqual(['a=x', 'bb=new', 'c=3', 'd=new'])
    })

    it('runs several scans at once, also when some do not finish', () => {
      store.apply(
        Array.from({ length: 1000 }, (_, i) => put(`k${String(i).padStart(4, '0')}`, 'v')),
      )
      const first = store.scan(text('k0000'), text('k0500'))
      const second = store.scan(text('k0500'), text('k1'))
      expect(show(first.next().value?.[0])).toBe('k0000')
      expect(show(second.next().value?.[0])).toBe('k0500')
      expect(show(first.next().value?.[0])).toBe('k0001')
      first.return?.()
      expect([...second]).toHaveLength(499)
    })

    it('stores empty keys and empty values', () => {
      store.apply([put('', 'of the empty key'), put('a', '')])
      expect(show(store.get(text('')))).toBe('of the empty key')
      expect(show(store.get(text('a')))).toBe('')
      expect(store.getMany([text('a'), text('')]).map(show)).toEqual(['', 'of the empty key'])
      expect(rows(store, '', 'b')).toEqual(['=of the empty key', 'a='])
      expect(rows(store, 'a', 'b')).toEqual(['a='])
      store.apply([del(''), del('a')])
      expect(store.get(text(''))).toBeUndefined()
      expect(rows(store, '', 'b')).toEqual([])
    })

    it('stores values of some megabytes', () => {
      const big = new Uint8Array(5_000_000)
      for (let i = 0; i < big.length; i += 997) big[i] = i % 251
      store.apply([{ key: text('big'), value: big }])
      expect(Buffer.compare(store.get(text('big'))!, big)).toBe(0)
      expect(store.get(text('big'))).toHaveLength(big.length)
    })

    it('keeps no reference to its arguments and results', () => {
      const key = text('key')
      const value = text('value')
      store.apply([{ key, value }])
      key.fill(0)
      value.fill(0)
      const returned = store.get(text('key'))!
      expect(show(returned)).toBe('value')
      returned.fill(0)
      expect(show(store.get(text('key')))).toBe('value')
    })

    it('refuses calls after close; close can be repeated', () => {
      store.apply([put('a', '1')])
      const scan = store.scan(text('a'), text('z'))
      store.close()
      store.close()
      const refused = (call: () => unknown): boolean => {
        try {
          call()
        } catch (error) {
          return isWeirError(error, 'ILLEGAL_STATE')
        }
        return false
      }
      expect(refused(() => store.get(text('a')))).toBe(true)
      expect(refused(() => store.getMany([text('a')]))).toBe(true)
      expect(refused(() => store.apply([put('a', '1')]))).toBe(true)
      expect(refused(() => store.scan(text('a'), text('b')))).toBe(true)
      expect(refused(() => scan.next())).toBe(true)
    })

    it('agrees with a plain map over 10,000 random operations (seed 42)', () => {
      agreesWithModel(store, 42, 10_000)
    })
  })
}

function agreesWithModel(store: StateStore, seed: number, operations: number): void {
  const random = seededRandom(seed)
  const model = new Map<string, string>()
  const key = (): string => `k${random.below(500)}`
  for (let n = 0; n < operations; ) {
    const changes: StoreChange[] = []
    for (let size = random.below(20); size >= 0; size--, n++) {
      const target = key()
      if (random.below(4) === 0) {
        changes.push(del(target))
        model.delete(target)
      } else {
        const value = 'v'.repeat(random.below(50)) + n
        changes.push(put(target, value))
        model.set(target, value)
      }
    }
    store.apply(changes)
    const probes = [key(), key(), key()]
    const values = store.getMany(probes.map(text)).map(show)
    expect(values).toEqual(probes.map((probe) => model.get(probe)))
    if (random.below(20) === 0) {
      const [from, to] = [key(), key()].sort() as [string, string]
      const expected = [...model.keys()].filter((k) => k >= from && k < to).sort()
      expect(rows(store, from, to)).toEqual(expected.map((k) => `${k}=${model.get(k)}`))
    }
  }
}
