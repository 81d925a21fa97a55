import { requireArgument, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import {
  addBit,
  ITEM_TAGS,
  MAX_TAGS,
  TAG_SUFFIX,
  TAGS_VERSION,
  type TagBits,
} from '../../models/item-tags.ts'
import type { StateVersion } from '../../state/catalog/key-class.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import { BOOST_FACTORS, MAX_BOOSTS, type TagRules } from '../../wire/model-reader.ts'
import { TagBoosts } from '../top-k/tag-boosts.ts'
import { TagFilter } from '../top-k/tag-filter.ts'
import type { LocalRequests, VectorRequest } from './request.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const SUFFIX = encoder.encode(TAG_SUFFIX)

/** Makes filters of the rules that a top-k names. */
export class LocalTagReads {
  private readonly catalog: StateCatalog
  private readonly requests: LocalRequests

  constructor(catalog: StateCatalog, requests: LocalRequests) {
    this.catalog = catalog
    this.requests = requests
  }

  /**
   * The filter of some rules; undefined where they forbid nothing. Throws UNKNOWN_STATE where the job has no tags,
   * UNKNOWN_TAG, INVALID_ARGUMENT, RESTORING.
   */
  filter({ anyOf = [], noneOf = [], boost = {} }: TagRules): TagFilter | undefined {
    const boosts = Object.entries(boost)
    requireBoosts(boosts)
    if (anyOf.length + noneOf.length + boosts.length === 0) return undefined
    const [tags, names] = this.tables()
    const bits = bitsByName(names)
    const masks = {
      anyOf: anyOf.length === 0 ? undefined : this.bitsOf(anyOf, bits),
      noneOf: this.bitsOf(noneOf, bits),
    }
    if (boosts.length === 0) return new TagFilter(tags, masks)
    const factors = boosts.map(([tag, factor]) => ({ bit: bitOf(tag, bits), factor }))
    return new TagFilter(tags, masks, new TagBoosts(factors))
  }

  /** The rows of tags, and those of their names. */
  private tables(): readonly [tags: StateVersion, names: StateVersion] {
    const { errors } = this.requests
    const state = this.catalog.state(ITEM_TAGS)
    if (state === undefined) throw errors.unknown('UNKNOWN_STATE', NO_TAGS)
    const request: Pick<VectorRequest, 'state' | 'version'> = { state, version: TAGS_VERSION }
    this.requests.requireAllRows(request, state.keyClasses)
    const [names, tags] = [true, false].map((isOfNames) =>
      state.keyClasses
        .find(({ suffix }) => (Buffer.compare(suffix, SUFFIX) === 0) === isOfNames)
        ?.versions.get(TAGS_VERSION),
    )
    if (tags === undefined || names === undefined) throw errors.unknown('UNKNOWN_STATE', NO_TAGS)
    return [tags, names]
  }

  private bitsOf(names: readonly string[], known: ReadonlyMap<string, number>): TagBits {
    requireArgument(
      names.length <= MAX_TAGS,
      `a rule names at most ${MAX_TAGS} tags, not ${names.length}`,
    )
    const bits = { low: 0, high: 0 }
    for (const name of names) addBit(bits, bitOf(name, known))
    return bits
  }
}

function bitOf(name: string, known: ReadonlyMap<string, number>): number {
  const bit = known.get(name)
  if (bit === undefined) throw unknownTag(name, [...known.keys()])
  return bit
}

function requireBoosts(boosts: readonly (readonly [tag: string, factor: number])[]): void {
  requireArgument(
    boosts.length <= MAX_BOOSTS,
    `a list has boosts of at most ${MAX_BOOSTS} tags, not ${boosts.length}`,
  )
  const { min, max } = BOOST_FACTORS
  for (const [tag, factor] of boosts) {
    requireArgument(
      factor >= min && factor <= max,
      `the boost of the tag "${tag}" is a factor from ${min} to ${max}, not ${factor}`,
    )
  }
}

const NO_TAGS =
  'the job has no tags of items, so that no rule can be answered; start it with --tags TOPIC'

/** The bit of each tag: at most 64 rows, read in place. */
function bitsByName(names: StateVersion): ReadonlyMap<string, number> {
  const bits = new Map<string, number>()
  for (const reader of names.readers) {
    const key = new Uint8Array(reader.layout.maxKeyBytes)
    const rows = reader.segments * reader.layout.rowsPerSegment
    for (let row = 0; row < rows; row++) {
      const sequence = reader.openRow(row)
      if ((sequence & 1) !== 0 || !reader.isLive(row)) continue
      const length = reader.keyInto(row, key, 0)
      const bit = reader.element(row, 0)
      if (!reader.unchanged(row, sequence)) continue
      bits.set(decoder.decode(key.subarray(0, length - SUFFIX.length)), bit)
    }
  }
  return bits
}

function unknownTag(tag: string, known: readonly string[]): WeirError {
  const nearest = nearestWord(tag, known)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  const some =
    known.length === 0 ? 'no item has a tag yet' : `known tags: ${known.toSorted().join(', ')}`
  return new WeirError('UNKNOWN_TAG', `no item has ever had the tag "${tag}" (${some})${hint}`)
}
