import {
  type EvolvingSerializer,
  type ValueCopier,
  type ValueReader,
  withCopier,
} from '../../core/serializer.ts'
import { FeatureRow } from './row.ts'

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
  private readonly features: number

  constructor(features: number) {
    this.features = features
  }

  copy(row: FeatureRow): FeatureRow {
    this.bytes = this.measure(row)
    return new FeatureRow(row.bytes.slice(), row.length, this.features)
  }

  measure({ view }: FeatureRow): number {
    return ROW_OVERHEAD + view.byteLength
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
  const count = own.length
  const serializer: EvolvingSerializer<FeatureRow> = {
    id: ID + JSON.stringify(own.map(({ name, layout }) => [name, layout])),
    write: (row, writer) => writer.raw(row.bytes),
    read(reader) {
      const bytes = reader.raw(reader.remaining).slice()
      return new FeatureRow(bytes, bytes.length, count)
    },
    readerOf: (storedId) =>
      storedId === serializer.id ? serializer.read : readerOfStored(own, storedId),
  }
  return withCopier(serializer, new RowCopier(count)) as EvolvingSerializer<FeatureRow>
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
  return (reader) => {
    const bytes = reader.raw(reader.remaining).slice()
    return rearranged(new FeatureRow(bytes, bytes.length, stored.length), places)
  }
}

/** The row with the regions at these places of the stored one; -1 for one that it does not have. */
function rearranged(stored: FeatureRow, places: readonly number[]): FeatureRow {
  const row = FeatureRow.empty(places.length)
  row.newest = stored.newest
  row.timer = stored.timer
  for (const [feature, place] of places.entries()) {
    if (place < 0) continue
    const from = stored.startOf(place)
    const size = stored.sizeOf(place)
    const at = row.startOf(feature)
    row.insert(feature, at, size)
    row.bytes.set(stored.bytes.subarray(from, from + size), at)
  }
  return row
}

function storedFeatures(id: string): readonly StoredFeature[] | undefined {
  if (!id.startsWith(`${ID}[`)) return undefined
  const stored = JSON.parse(id.slice(ID.length)) as readonly (readonly [string, string])[]
  return stored.map(([name, layout]) => ({ name, layout }))
}
