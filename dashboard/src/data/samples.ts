import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { History } from './answers.ts'
import { appended, type Samples } from './append-samples.ts'
import { needsToken, read } from './rest.ts'
import { gaps, useWatched } from './watched.ts'

/** Newest samples that are pushed each time, so that a late push leaves no hole. */
const PUSHED = 5

/** The samples of metrics of a job in the last ten minutes, and new ones as they are taken. */
export function useHistory(job: string, metrics: readonly string[]): Samples {
  const list = metrics.map(encodeURIComponent).join(',')
  const path = list === '' ? undefined : `/weir/jobs/${job}/history?metrics=${list}`
  const newest = useWatched<History>(path === undefined ? undefined : `${path}&last=${PUSHED}`).data
  const past = useRead<History>(path)
  const kept = useRef<{ path: string | undefined; past?: History; samples: Samples }>({
    path: undefined,
    samples: [],
  })
  return useMemo(() => {
    const none = [[], ...metrics.map(() => [])]
    const isNew = kept.current.path !== path || kept.current.past !== past
    const before = isNew ? appended(none, past) : kept.current.samples
    const samples = appended(before, newest)
    kept.current = { path, samples, ...(past === undefined ? {} : { past }) }
    return samples
  }, [path, past, newest])
}

/** The answer to a path, read once, and again after events were missed; undefined until it comes. */
function useRead<T>(path: string | undefined): T | undefined {
  const [answer, setAnswer] = useState<{ readonly path: string; readonly data: T }>()
  const gap = gaps.value
  const token = needsToken.value
  useEffect(() => {
    if (path === undefined || token) return
    const stop = new AbortController()
    read<T>(path, stop.signal)
      .then((data) => setAnswer({ path, data }))
      // What is pushed fills the chart from now on.
      .catch(() => {})
    return () => stop.abort()
  }, [path, gap, token])
  return answer?.path === path ? answer?.data : undefined
}
