import { jsonLineIn, malformed } from './model-folder.ts'

/** What Spark says of a training: numbers by name. */
export type SparkFacts = Readonly<Record<string, number>>

/**
 * The facts that the program of a training wrote into a folder, behind all else. Throws FILE_NOT_FOUND and MALFORMED_DATA
 * where one of `names` is missing: the training did not come to its end.
 */
export async function sparkFacts(place: string, names: readonly string[]): Promise<SparkFacts> {
  const line = await jsonLineIn(place, 'facts')
  const facts: Record<string, number> = {}
  for (const [name, value] of Object.entries(line)) {
    if (typeof value === 'number') facts[name] = value
  }
  const missing = names.find((name) => !Object.hasOwn(facts, name))
  if (missing !== undefined) throw malformed(place, `its facts have no "${missing}"`)
  return facts
}
