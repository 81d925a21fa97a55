import { useEffect, useState } from 'preact/hooks'
import type { StateEntry } from '../data/job-data.ts'
import { RestError, read } from '../data/rest.ts'
import { bySimilarity, type SimilarItem } from '../data/similarity.ts'
import { titles } from '../data/titles.ts'

/** Parts of the reasons for an item. */
export interface BecauseProps {
  readonly job: string
  readonly version: number
  readonly item: string
  /** Items that the user knows. */
  readonly known: readonly string[]
}

/** Known items that are read at most. */
const MOST_KNOWN = 20
/** Reasons that are shown. */
const SHOWN = 3

/** The known items that an item resembles most. */
export function Because({ job, version, item, known }: BecauseProps) {
  const [similar, setSimilar] = useState<readonly SimilarItem[]>()
  const [message, setMessage] = useState('')
  const list = known.slice(0, MOST_KNOWN).join(',')
  useEffect(() => {
    const stop = new AbortController()
    const find = async (): Promise<void> => {
      try {
        const found = await similarOf({ job, version, item, known: list.split(',') }, stop.signal)
        if (!stop.signal.aborted) setSimilar(found)
      } catch (error) {
        if (!stop.signal.aborted)
          setMessage(error instanceof RestError ? error.message : `${error}`)
      }
    }
    void find()
    return () => stop.abort()
  }, [job, version, item, list])
  if (message !== '') return <span class="quiet">{message}</span>
  if (similar === undefined) return <span class="quiet">…</span>
  if (similar.length === 0) return <span class="quiet">the model knows none of them</span>
  return (
    <span class="wraps">
      {similar
        .slice(0, SHOWN)
        .map((one) => `${titles.value.get(one.item) ?? one.item} (${one.similarity.toFixed(2)})`)
        .join(', ')}
    </span>
  )
}

async function similarOf(
  { job, version, item, known }: BecauseProps,
  stop: AbortSignal,
): Promise<readonly SimilarItem[]> {
  const rowOf = async (id: string): Promise<readonly number[] | undefined> => {
    const query = new URLSearchParams({ key: `${id}-I`, version: String(version) })
    try {
      const entry = await readOnce(`/weir/jobs/${job}/states/ALS_MODEL/entry?${query}`, stop)
      return entry.value as readonly number[]
    } catch (error) {
      if (error instanceof RestError && error.status === 404) return undefined
      throw error
    }
  }
  const row = await rowOf(item)
  if (row === undefined) return []
  const others = known.filter((id) => id !== item)
  const rows = await Promise.all(others.map(async (id) => [id, await rowOf(id)] as const))
  const found = rows.flatMap(([id, one]) => (one === undefined ? [] : [[id, one] as const]))
  return bySimilarity(row, new Map(found))
}

/** Answers that are shared by the items of one list: each known item is read once. */
const shared = new Map<string, Promise<StateEntry>>()
/** Time for which an answer is shared, ms. */
const SHARED_MS = 5000

function readOnce(path: string, stop: AbortSignal): Promise<StateEntry> {
  const running = shared.get(path)
  if (running !== undefined) return running
  const answer = read<StateEntry>(path)
  shared.set(path, answer)
  setTimeout(() => shared.delete(path), SHARED_MS)
  stop.throwIfAborted()
  return answer
}
