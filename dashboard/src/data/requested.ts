import { useCallback, useEffect, useState } from 'preact/hooks'
import { needsToken, RestError, read } from './rest.ts'
import type { Watched } from './watched.ts'

/** What is known of a path that is requested at times. */
export interface Requested<T> extends Watched<T> {
  /** Whether a request is on its way. */
  readonly isComing: boolean
  /** Requests it again now. */
  readonly again: () => void
}

interface Answer<T> extends Watched<T> {
  readonly path: string | undefined
}

const NOTHING = { data: undefined, error: undefined }

/**
 * Requests a path that the server does not push: now, then every `everyMs` while the page is seen, if given.
 * The answer to another path is never shown.
 */
export function useRequested<T>(path: string | undefined, everyMs?: number): Requested<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ ...NOTHING, path })
  const [isComing, setComing] = useState(true)
  const [turn, setTurn] = useState(0)
  const token = needsToken.value
  useEffect(() => {
    if (path === undefined || token) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const request = async (): Promise<void> => {
      if (!document.hidden || everyMs === undefined) {
        const got = await attempt<T>(path, stop.signal)
        if (stop.signal.aborted) return
        setAnswer((last) => merged(last, got))
        setComing(false)
      }
      if (everyMs !== undefined) timer = setTimeout(() => void request(), everyMs)
    }
    setComing(true)
    void request()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [path, everyMs, token, turn])
  const again = useCallback(() => setTurn((last) => last + 1), [])
  const { data, error } = answer.path === path ? answer : NOTHING
  return { data, error, isComing: isComing || answer.path !== path, again }
}

async function attempt<T>(path: string, stop: AbortSignal): Promise<Answer<T>> {
  try {
    return { path, data: await read<T>(path, stop), error: undefined }
  } catch (failure) {
    const error = failure instanceof RestError ? failure : new RestError(0, String(failure))
    return { path, data: undefined, error }
  }
}

/** After a failure the last data of the same path stays. */
function merged<T>(last: Answer<T>, got: Answer<T>): Answer<T> {
  if (got.error === undefined || last.path !== got.path) return got
  return { ...got, data: last.data }
}
