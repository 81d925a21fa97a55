import { useState } from 'preact/hooks'
import type { JobDetail, JobLive } from '../data/answers.ts'
import { change, RestError, read } from '../data/rest.ts'
import { Confirm } from './confirm.tsx'
import { Rescale } from './rescale.tsx'

/** Parts of the actions of a job. */
export interface JobActionsProps {
  readonly job: JobDetail
  readonly live: JobLive
}

/** Pause between two questions whether a savepoint is complete, ms. */
const ASK_MS = 500

/** Buttons that rescale the job, take a savepoint and cancel the job; all but the savepoint ask first. */
export function JobActions({ job, live }: JobActionsProps) {
  const { jid: id, state } = job
  const [message, setMessage] = useState('')
  if (state !== 'RUNNING' && state !== 'RESTARTING') return null
  const attempt = async (run: (report: typeof setMessage) => Promise<string>): Promise<void> => {
    try {
      setMessage(await run(setMessage))
    } catch (error) {
      setMessage(error instanceof RestError ? error.message : String(error))
    }
  }
  const cancel = (): void => {
    void attempt(async () => {
      await change('PATCH', `/jobs/${id}?mode=cancel`)
      return 'The job is being cancelled.'
    })
  }
  return (
    <div class="actions">
      {live.vertices.length > 0 && state === 'RUNNING' ? (
        <Rescale job={job} live={live} attempt={(run) => void attempt(run)} />
      ) : null}
      {live.takesCheckpoints && state === 'RUNNING' ? (
        <button type="button" onClick={() => void attempt((report) => savepoint(id, report))}>
          Take a savepoint
        </button>
      ) : null}
      <Confirm
        action="Cancel the job"
        question="Cancel this job?"
        keep="Keep it running"
        isDanger
        onConfirm={cancel}
      >
        <p>
          It ends at once, without a savepoint. Its last checkpoint is kept; to continue from now,
          take a savepoint first.
        </p>
      </Confirm>
      <p class="message" role="status">
        {message}
      </p>
    </div>
  )
}

interface OperationStatus {
  readonly status: { readonly id: 'IN_PROGRESS' | 'COMPLETED' }
  readonly operation?: {
    readonly location?: string
    readonly 'failure-cause'?: { readonly class: string }
  }
}

/** Takes a savepoint and returns a sentence about it. */
async function savepoint(id: string, report: (message: string) => void): Promise<string> {
  report('Taking a savepoint …')
  const path = `/jobs/${id}/savepoints`
  const { 'request-id': trigger } = await change<{ 'request-id': string }>('POST', path, {})
  for (;;) {
    const { status, operation } = await read<OperationStatus>(`${path}/${trigger}`)
    if (status.id === 'COMPLETED') {
      const cause = operation?.['failure-cause']
      return cause === undefined
        ? `Savepoint completed: ${operation?.location ?? ''}`
        : `The savepoint failed: ${cause.class}`
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_MS))
  }
}
