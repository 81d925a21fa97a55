import { ERROR_CODES } from '../src/core/errors.ts'

/** The text of docs/reference/errors.md. */
export function errorReference(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { retryable, meaning }]) =>
      `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${meaning} |`,
  )
  return [
    '# Errors',
    '',
    'Every error that Weir raises on purpose is a `WeirError` with one of these codes. `retryable`',
    'says whether the same call may succeed later without a change. On the wire an error is its code,',
    'its message and its details, never a stack. A code is never reused for another meaning.',
    '',
    '| code | retryable | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
