import type { QueryOptions } from '../../wire/model-reader.ts'

/** An answer with the model version that gave it. */
export interface VersionedAnswer {
  readonly modelVersion: number
}

/**
 * Answers of one batch, all from one model version. If the live version switches while the batch is
 * answered, the batch is read again at the newest version that answered. Rejects with the first error.
 */
export async function oneVersion<A extends VersionedAnswer>(
  options: QueryOptions,
  ask: (options: QueryOptions) => readonly Promise<A>[],
): Promise<readonly A[]> {
  const answers = await Promise.all(ask(options))
  const versions = new Set(answers.map(({ modelVersion }) => modelVersion))
  if (versions.size <= 1) return answers
  return await Promise.all(ask({ ...options, version: Math.max(...versions) }))
}
