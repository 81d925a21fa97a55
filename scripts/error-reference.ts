import { ERROR_CODES, type ErrorCode, mayPassAfterRestart } from '../src/core/errors.ts'

/** The text of docs/reference/errors.md. */
export function errorReference(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { retryable, meaning }]) =>
      `| [\`${code}\`](../guide/troubleshooting.md#${code.toLowerCase()}) | ${yesNo(retryable)} | ${yesNo(mayPassAfterRestart(code as ErrorCode))} | ${meaning} |`,
  )
  return [
    '# Errors',
    '',
    'Every error that Weir throws on purpose is a `WeirError` with one of these codes. `retryable` means',
    'that the same call can succeed later. `restarts` means that a job which fails with the code is restarted',
    'as its restart strategy says; with every other code the job ends at once with JOB_FAILED, and the command',
    'that runs it ends with exit status 1. On the wire an error has its code, its message and its details,',
    'but no stack. A code never gets another meaning. Each code links to what happened and what to do.',
    '',
    '| code | retryable | restarts | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no'
}
