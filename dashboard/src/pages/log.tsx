import { useEffect, useState } from 'preact/hooks'
import { RestError, readText } from '../data/rest.ts'
import { Notice } from '../parts/notice.tsx'

/** The newest log of the process of a job. */
export function LogPage({ id }: { readonly id: string }) {
  const [text, setText] = useState<string>()
  const [error, setError] = useState<RestError>()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const stop = new AbortController()
    readText(`/taskmanagers/${id}-slot-0/log`, stop.signal)
      .then(setText)
      .catch((failure: unknown) => {
        if (!stop.signal.aborted) setError(failure instanceof RestError ? failure : undefined)
      })
    return () => stop.abort()
  }, [id, turn])
  return (
    <section class="card" aria-labelledby="log">
      <div class="heading">
        <h2 id="log">Log</h2>
        <button type="button" onClick={() => setTurn(turn + 1)}>
          Read again
        </button>
      </div>
      {text === undefined ? (
        <Notice error={error} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard
        <pre tabIndex={0}>{text === '' ? 'The log is empty.' : text}</pre>
      )}
    </section>
  )
}
