import type { RestError } from '../data/rest.ts'

/** What stands where data will be: that it is loading, or why it does not come. */
export function Notice({ error }: { readonly error: RestError | undefined }) {
  if (error === undefined) return <p class="quiet">Loading …</p>
  return (
    <p class="notice" role="alert">
      {error.message}
    </p>
  )
}
