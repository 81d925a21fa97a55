import type { ByteReader } from '../../core/byte-reader.ts'
import {
  type EvolvingSerializer,
  type ValueCopier,
  type ValueReader,
  withCopier,
} from '../../core/serializer.ts'
import { FeatureRow, OpenRow } from './row.ts'

/** A feature as stored rows name it. */
interface StoredFeature {
  readonly name: string
  readonly layout: string
}

/** Bytes of heap of a row besides its own. */
const ROW_OVERHEAD = 256
const ID = 'features/1'

/** Copies rows as bytes. */
class RowCopier implements ValueCopier<FeatureRow> {
  readonly shares = false
  bytes = 0

  copy(row: FeatureRow): FeatureRow {
    this.bytes = this.measure(row)
    return new FeatureRow(row.used.slice(), row)
  }

  measure({ bytes }: FeatureRow): number {
    return ROW_OVERHEAD + bytes.length
  }
}

/**
 * Rows of features as their bytes. It reads rows of another definition, too: a feature of the same name and layout goes
 * on, a new one begins without events, and one that is gone is left out.
 */
export function rowSerializer(
  features: readonly { readonly name: string; readonly tally: { readonly layout: string } }[],
): EvolvingSerializer<FeatureRow> {
  const own = features.map(({ name, tally }) => ({ name, layout: tally.layout }))
  const serializer: EvolvingSerializer<FeatureRow> = {
    id: ID + JSON.stringify(own.map(({ name, layout }) => [name, layout])),
    write(row, writer) {
      writer.float64(row.newest)
      writer.float64(row.timer)
      writer.raw(row.used)
    },
    read,
    readerOf: (storedId) =>
      storedId === serializer.id ? serializer.read : readerOfStored(own, storedId),
  }
  return withCopier(serializer, new RowCopier()) as EvolvingSerializer<FeatureRow>
}

function readerOfStored(
  own: readonly StoredFeature[],
  storedId: string,
): ValueReader<FeatureRow> | string {
  const stored = storedFeatures(storedId)
  if (stored === undefined) return `${ID} does not read ${storedId}`
  for (const { name, layout } of own) {
    const before = stored.find((one) => one.name === name)
    if (before !== undefined && before.layout !== layout) {
      return `feature "${name}" was ${before.layout} and is ${layout} now: give it a new name, under which it begins without events`
    }
  }
  const places = own.map(({ name }) => stored.findIndex((one) => one.name === name))
  const from = new OpenRow(stored.length)
  const to = new OpenRow(places.length)
  return (reader) => rearranged(read(reader), places, from, to)
}

/** A row as it is stored. */
function read(reader: ByteReader): FeatureRow {
  const times = { newest: reader.float64(), timer: reader.float64() }
  return new FeatureRow(reader.raw(reader.remaining).slice(), times)
}

/** The row with the regions at these places of the stored one; -1 for one that it does not have. */
function rearranged(
  stored: FeatureRow,
  places: readonly number[],
  from: OpenRow,
  to: OpenRow,
): FeatureRow {
  const row = FeatureRow.empty(places.length)
  from.load(stored)
  to.load(row)
  for (const [feature, place] of places.entries()) {
    if (place < 0) continue
    const start = from.startOf(place)
    const size = from.sizeOf(place)
    const at = to.startOf(feature)
    to.insert(feature, at, size)
    to.bytes.set(from.bytes.subarray(start, start + size), at)
  }
  to.newest = stored.newest
  to.store(row)
  row.timer = stored.timer
  return row
}

function storedFeatures(id: string): readonly StoredFeature[] | undefined {
  if (!id.startsWith(`${ID}[`)) return undefined
  const stored = JSON.parse(id.slice(ID.length)) as readonly (readonly [string, string])[]
  return stored.map(([name, layout]) => ({ name, layout }))
}
