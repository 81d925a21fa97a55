import { useState } from 'preact/hooks'
import type { ModelSwitch, Models, ModelVersion } from '../data/job-data.ts'
import { change, RestError } from '../data/rest.ts'
import { Confirm } from '../parts/confirm.tsx'

/** Parts of the actions of a model. */
export interface ModelActionsProps {
  readonly id: string
  readonly models: Models
  /** The version that is shown in detail, which can be promoted. */
  readonly shown: ModelVersion | undefined
  /** Called with a sentence about what has happened. */
  readonly onSwitch: (message: string) => void
}

/** Buttons that promote the version that is shown, and roll back; both ask first. */
export function ModelActions({ id, models, shown, onSwitch }: ModelActionsProps) {
  const [reason, setReason] = useState('')
  const { live, rollback } = models
  const post = async (path: string, body: object): Promise<void> => {
    try {
      const { live: now, before, how } = await change<ModelSwitch>('POST', path, body)
      onSwitch(`Version ${now} is live (${how}); before it was ${before === 0 ? 'none' : before}.`)
    } catch (error) {
      onSwitch(error instanceof RestError ? error.message : String(error))
    }
  }
  const promote = (): void => {
    const force = reason.trim() === '' ? {} : { force: reason.trim() }
    const path = `/weir/jobs/${id}/models/${shown!.number}/promote`
    // Before its first promotion the registry has no live version that could change meanwhile.
    void post(path, { ...(live === 0 ? {} : { expectLive: live }), ...force })
  }
  const rollBack = (): void => {
    void post(`/weir/jobs/${id}/models/rollback`, {
      expectLive: live,
      reason: 'from the dashboard',
    })
  }
  const canPromote = shown !== undefined && shown.number !== live
  return (
    <div class="actions">
      {canPromote ? (
        <Confirm
          action={`Promote version ${shown.number}`}
          question={`Make version ${shown.number} live?`}
          keep="Leave it"
          onConfirm={promote}
        >
          <p>
            Queries read it as soon as every slot has its rows. Its checks must have passed against
            the live version{live === 0 ? '' : ` ${live}`}.
          </p>
          <p class="field">
            <label for="force">Reason to ignore the checks (empty: they count)</label>
            <input
              id="force"
              value={reason}
              onInput={({ currentTarget }) => setReason(currentTarget.value)}
            />
          </p>
        </Confirm>
      ) : null}
      {rollback === 0 ? null : (
        <Confirm
          action={`Roll back to ${rollback}`}
          question={`Roll back to version ${rollback}?`}
          keep={`Keep version ${live}`}
          isDanger
          onConfirm={rollBack}
        >
          <p>Version {rollback} becomes live again at once, without checks.</p>
        </Confirm>
      )}
    </div>
  )
}
