import { useId, useState } from 'preact/hooks'
import type { JobDetail, JobLive } from '../data/answers.ts'
import { requirementsOf } from '../data/requirements.ts'
import { change } from '../data/rest.ts'
import { Confirm } from './confirm.tsx'

/** Parts of the control of a job's parallelism. */
export interface RescaleProps {
  readonly job: JobDetail
  readonly live: JobLive
  /** Runs a change whose last sentence, or error, is shown; `report` shows what goes on. */
  readonly attempt: (run: (report: (sentence: string) => void) => Promise<string>) => void
}

/** A button that gives a running job another parallelism, which is chosen in its dialog. */
export function Rescale({ job, live, attempt }: RescaleProps) {
  const now = live.parallelism
  const [chosen, setChosen] = useState<number>()
  const wanted = chosen ?? now
  const fixed = live.vertices.filter(({ hasOwnParallelism }) => hasOwnParallelism)
  const rescale = (): void => {
    attempt(async (report) => {
      if (wanted === now) return `The parallelism is ${now}, as before.`
      report(`Rescaling from ${now} to ${wanted} …`)
      const path = `/jobs/${job.jid}/resource-requirements`
      await change('PUT', path, requirementsOf(job, live, wanted))
      return `The job runs with parallelism ${wanted}.`
    })
  }
  return (
    <Confirm
      action="Rescale"
      question="Give this job another parallelism?"
      keep={`Keep ${now}`}
      onConfirm={rescale}
      onClose={() => setChosen(undefined)}
    >
      <Stepper value={wanted} max={maxParallelismOf(job, live)} onChange={setChosen} />
      <p>
        The job takes a checkpoint, ends, and goes on from there under the same id. Clients that ask
        it meanwhile wait for some seconds. A back-pressured job takes longer.
      </p>
      {fixed.length === 0 ? null : (
        <p>The code fixes the parallelism of {fixed.map(({ uid }) => uid).join(', ')}.</p>
      )}
    </Confirm>
  )
}

/** The largest parallelism that all operators can have which follow the job. */
function maxParallelismOf(job: JobDetail, live: JobLive): number {
  const following = job.vertices.filter(
    ({ id }) => live.vertices.find((vertex) => vertex.id === id)?.hasOwnParallelism !== true,
  )
  return Math.min(...following.map(({ maxParallelism }) => maxParallelism))
}

interface StepperProps {
  readonly value: number
  readonly max: number
  readonly onChange: (value: number) => void
}

/** A whole number from 1, with a button on each side. */
function Stepper({ value, max, onChange }: StepperProps) {
  const label = useId()
  const step = (name: string, sign: string, to: number) => (
    <button
      type="button"
      aria-label={name}
      disabled={to < 1 || to > max}
      onClick={() => onChange(to)}
    >
      {sign}
    </button>
  )
  return (
    <p class="stepper">
      <label for={label}>Parallelism</label>
      {step('One less', '−', value - 1)}
      <input
        id={label}
        type="number"
        min={1}
        inputMode="numeric"
        value={value}
        onInput={({ currentTarget: { valueAsNumber } }) => {
          if (Number.isInteger(valueAsNumber)) onChange(valueAsNumber)
        }}
      />
      {step('One more', '+', value + 1)}
    </p>
  )
}
