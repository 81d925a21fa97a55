import { pathToFileURL } from 'node:url'
import { asWeirError, WeirError } from '../../core/errors.ts'
import type { RescoredItem, RescoredList, Rescorer } from '../port/rescorer.ts'

/** Items that a rescorer gets: those with the highest scores. */
export const RESCORED_ITEMS = 1000

/** The rescorer that a module exports as its default. Rejects with INVALID_ARGUMENT. */
export async function loadRescorer(file: string): Promise<Rescorer> {
  let exported: { readonly default?: unknown }
  try {
    exported = await import(pathToFileURL(file).href)
  } catch (error) {
    throw asWeirError(error, 'INVALID_ARGUMENT', `the rescorer ${file} cannot be loaded`)
  }
  if (typeof exported.default === 'function') return exported.default as Rescorer
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${file} is no rescorer: end it with "export default (items, { route, ids, params }) => items.map(...)"`,
  )
}

/**
 * The items as the rescorer orders them, equal values in the order of before. Rejects with MODEL_FAILED where it throws,
 * or answers with anything but some of the items, each once, with a number.
 */
export async function rescored(
  rescorer: Rescorer,
  items: readonly RescoredItem[],
  list: RescoredList,
): Promise<readonly RescoredItem[]> {
  let answer: unknown
  try {
    answer = await rescorer(items, list)
  } catch (error) {
    throw asWeirError(error, 'MODEL_FAILED', 'the rescorer failed')
  }
  const problem = problemOf(answer, items)
  if (problem !== undefined) throw new WeirError('MODEL_FAILED', `the rescorer ${problem}`)
  return (answer as readonly RescoredItem[]).toSorted((a, b) => b.value - a.value)
}

function problemOf(answer: unknown, items: readonly RescoredItem[]): string | undefined {
  if (!Array.isArray(answer)) return 'did not return a list of { id, value }'
  const open = new Set(items.map(({ id }) => id))
  for (const one of answer as readonly (Partial<RescoredItem> | null | undefined)[]) {
    if (!Number.isFinite(one?.value)) {
      return `gave the item ${JSON.stringify(one?.id)} the value ${String(one?.value)}, which is no number`
    }
    if (!open.delete(one?.id as string)) {
      return `returned the item ${JSON.stringify(one?.id)}, which it did not get, or returned before`
    }
  }
  return undefined
}
