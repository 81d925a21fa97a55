import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { latin1Of } from '../../../src/core/text/latin1.ts'
import { EntryIndex } from '../../../src/state/entries/entry-index.ts'
import { KeyedEntry } from '../../../src/state/entries/keyed-entry.ts'
import { encodeComposite, encodePrefix } from '../../../src/state/port/composite-key.ts'
import { PrefixGroups } from '../../../src/state/typed/prefix-groups.ts'

const KEY_GROUPS = { first: 4, last: 6 }
const NO_NAMESPACE = new Uint8Array(0)
const KEYS = [0, 1, 2, 3, 4, 5, 6, 7]

const keyGroupOf = (key: number): number => KEY_GROUPS.first + (key % 3)
const prefixOf = (key: number): string => latin1Of(encodePrefix(Uint8Array.of(key), NO_NAMESPACE))

/** Counts how often the entries of a key group are read, which is when its groups are made. */
class ReadIndex extends EntryIndex {
  reads = 0

  override entriesOf(keyGroup: number): IterableIterator<KeyedEntry> {
    this.reads += 1
    return super.entriesOf(keyGroup)
  }
}

/** Entries of a map, by key. */
class Entries {
  readonly index = new ReadIndex(KEY_GROUPS)
  readonly groups = new PrefixGroups(this.index, KEY_GROUPS)
  readonly byKey = new Map<number, Set<KeyedEntry>>(KEYS.map((key) => [key, new Set()]))
  private made = 0

  add(key: number): void {
    const mapKey = Uint8Array.of(this.made >>> 8, this.made & 255)
    const composite = encodeComposite({
      key: Uint8Array.of(key),
      namespace: NO_NAMESPACE,
      mapKey,
    })
    const entry = new KeyedEntry(this.made++, latin1Of(composite), keyGroupOf(key))
    this.index.insert(entry)
    this.groups.add(entry)
    this.byKey.get(key)!.add(entry)
  }

  remove(key: number): void {
    const [entry] = this.byKey.get(key)!
    if (entry === undefined) return
    this.byKey.get(key)!.delete(entry)
    this.index.remove(entry)
    this.groups.remove(entry)
  }

  of(key: number): ReadonlySet<KeyedEntry> {
    return new Set(this.groups.of(keyGroupOf(key), prefixOf(key)) ?? [])
  }

  /** Whether a scan gives the entries of a key, and only prefixes of keys that have some. */
  isRight(key: number): boolean {
    const keyGroup = keyGroupOf(key)
    const hasEntries = (one: number) => this.byKey.get(one)!.size > 0
    const keys = KEYS.filter((one) => keyGroupOf(one) === keyGroup && hasEntries(one))
    const prefixes = [...this.groups.prefixes(keyGroup)]
    const found = this.of(key)
    return (
      found.size === this.byKey.get(key)!.size &&
      [...found].every((entry) => this.byKey.get(key)!.has(entry)) &&
      String(prefixes.sort()) === String(keys.map(prefixOf).sort())
    )
  }
}

function change(entries: Entries, random: Random): void {
  const key = KEYS[random.below(KEYS.length)]!
  if (random.below(2) === 0) entries.add(key)
  else entries.remove(key)
}

describe('the entries of a map by prefix', () => {
  it('are those that are there, however many came and left between two scans', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed)
      const entries = new Entries()
      for (let scan = 0; scan < 30; scan++) {
        const changes = random.below(random.below(3) === 0 ? 1500 : 20)
        for (let i = 0; i < changes; i++) change(entries, random)
        const key = KEYS[random.below(KEYS.length)]!
        expect(entries.isRight(key), `seed ${seed}, scan ${scan}`).toBe(true)
      }
    }
  })

  it('are grouped by the first scan of a key group, and not again while it is scanned', () => {
    const entries = new Entries()
    for (let i = 0; i < 1000; i++) entries.add(i % 8)
    expect(entries.index.reads).toBe(0)
    for (let i = 0; i < 1000; i++) {
      entries.add(3)
      entries.remove(6)
      entries.of(0)
      entries.of(3)
    }
    expect(entries.index.reads).toBe(1)
    entries.of(1)
    expect(entries.index.reads).toBe(2)
  })

  it('are not grouped any more where nothing scans them', () => {
    const entries = new Entries()
    for (let i = 0; i < 300; i++) entries.add(0)
    entries.of(0)
    for (let i = 0; i < 500; i++) {
      entries.add(3)
      entries.remove(3)
    }
    expect(entries.of(0).size).toBe(300)
    expect(entries.index.reads).toBe(1)
    for (let i = 0; i < 700; i++) {
      entries.add(3)
      entries.remove(3)
    }
    expect(entries.of(0).size).toBe(300)
    expect(entries.index.reads).toBe(2)
  })

  it('stay grouped in a key group that is large', () => {
    const entries = new Entries()
    for (let i = 0; i < 16_384; i++) entries.add(0)
    expect(entries.index.reads).toBe(0)
    for (let i = 0; i < 40_000; i++) {
      entries.add(3)
      if (i > 0) entries.remove(3)
    }
    expect(entries.of(3).size).toBe(1)
    expect(entries.index.reads).toBe(1)
  })
})
