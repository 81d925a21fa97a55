const KINDS: Readonly<Record<string, string>> = {
  RUNNING: 'good',
  COMPLETED: 'good',
  PASSED: 'good',
  READY: 'good',
  UNAVAILABLE: 'bad',
  live: 'good',
  serving: 'good',
  replaced: 'plain',
  retired: 'plain',
  unregistered: 'plain',
  incomplete: 'bad',
  FINISHED: 'plain',
  CANCELED: 'plain',
  FAILED: 'bad',
  FAILING: 'bad',
}

/** State of a job, a task, a checkpoint or a version, as a word in a colour. */
export function StateBadge({ state }: { readonly state: string }) {
  return (
    <span class={`badge ${KINDS[state] ?? 'changing'}`}>
      {state.toLowerCase().replace('_', ' ')}
    </span>
  )
}
