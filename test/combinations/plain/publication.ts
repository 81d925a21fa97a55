import type { Installation } from '../installation.ts'
import type { Rows } from '../service.ts'

/** A version as its publisher wrote it to the topic of the model. */
export interface Publication {
  readonly version: number
  /** The `ready` marker. */
  readonly marker: {
    readonly biased?: boolean
    readonly globalMean?: number
    /** Absent, or null, where ratings have no limits. */
    readonly minRating?: number | null
    readonly maxRating?: number | null
    readonly metrics?: Readonly<Record<string, number>>
    readonly hyperparameters?: Readonly<Record<string, unknown>>
  }
  /** Rows by key, without the version. */
  readonly rows: Rows
  /** By key, the ratings that a row was trained on, where they were published. */
  readonly ratings: ReadonlyMap<string, number>
  /** By key, what was published beside a block of weights. */
  readonly memories: Rows
}

/** Reads a version from its topic, by the documented layout of its records (docs/reference/model-topic.md). */
export async function publicationOf(
  at: Installation,
  model: string,
  version: number,
): Promise<Publication> {
  const rows = new Map<string, Float32Array>()
  const ratings = new Map<string, number>()
  const memories = new Map<string, Float32Array>()
  let marker: Publication['marker'] | undefined
  for (const { key, value, headers } of await at.records(model)) {
    const [name, of = '1'] = key.split('@') as [string, string?]
    if (Number(of) !== version) continue
    if (name.startsWith('!')) {
      const said = JSON.parse(value.toString()) as { event: string } & Publication['marker']
      if (said.event === 'ready') marker = said
      continue
    }
    rows.set(name, floatsOf(value))
    const count = headers.get('ratings')
    if (count !== undefined) ratings.set(name, Number(count.toString()))
    const memory = headers.get('weight-memory')
    if (memory !== undefined) memories.set(name, floatsOf(memory))
  }
  if (marker === undefined) throw new Error(`version ${version} of ${model} is not ready`)
  return { version, marker, rows, ratings, memories }
}

function floatsOf(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatLE(4 * n))
}
