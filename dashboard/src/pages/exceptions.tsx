import type { Exceptions, JobConfig, JobLive } from '../data/answers.ts'
import { useWatched } from '../data/watched.ts'
import { timeText } from '../format.ts'
import { Figures } from '../parts/figures.tsx'
import { Notice } from '../parts/notice.tsx'

/** Failures that the page asks for. */
const MOST = 50

/** Failures of a job, newest first, and how it restarts. */
export function ExceptionsPage({ id, live }: { readonly id: string; readonly live: JobLive }) {
  const exceptions = useWatched<Exceptions>(`/jobs/${id}/exceptions?maxExceptions=${MOST}`)
  const config = useWatched<JobConfig>(`/jobs/${id}/config`)
  if (exceptions.data === undefined) return <Notice error={exceptions.error} />
  const { entries, truncated } = exceptions.data.exceptionHistory
  return (
    <>
      <Figures
        figures={[
          { name: 'Restarts', value: live.restarts },
          { name: 'Failures', value: live.failures },
          {
            name: 'Restart strategy',
            value: (
              <span class="sentence">
                {config.data?.['execution-config']['restart-strategy'] ?? '–'}
              </span>
            ),
          },
        ]}
      />
      <section class="card" aria-labelledby="failures">
        <h2 id="failures">Failures, newest first</h2>
        {entries.length === 0 ? <p class="quiet">The job has not failed.</p> : null}
        <ol class="failures">
          {entries.map(({ timestamp, exceptionName, taskName, stacktrace }, i) => (
            <li key={`${timestamp} ${stacktrace.length} ${entries.length - i}`}>
              <details open={i === 0}>
                <summary>
                  <time>{timeText(timestamp)}</time> <code class="code">{exceptionName}</code>{' '}
                  <span>{stacktrace.split('\n')[0]}</span>
                  {taskName === null ? null : <small class="quiet">{taskName}</small>}
                </summary>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard */}
                <pre tabIndex={0}>{stacktrace}</pre>
              </details>
            </li>
          ))}
        </ol>
        {truncated ? <p class="quiet">Older failures are not shown.</p> : null}
      </section>
    </>
  )
}
